"""A Hugging Face model and its tokenizer from a folder or the hub.

Only safetensors are read and no code that comes with a model is run: a pickle file or
`trust_remote_code` could do anything on the user's machine.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.errors import HeedfulError
from heedful.subjects.hf_files import checked, not_there
from heedful.subjects.loading import DTYPES, Loading

FORBIDDEN: Mapping[str, Any] = {"trust_remote_code": False}
CAUSAL, CLASSIFIER = "causal", "classifier"


@dataclass(frozen=True)
class Loaded:
    """`kind` is `causal` or `classifier`; `name` is what a page calls the model."""

    module: Any
    tokenizer: Any
    kind: str
    name: str


def load(source: str | Path, loading: Loading) -> Loaded:
    """From a folder that `save_pretrained` wrote, or by an id of the hub."""
    library = transformers()
    name = checked(source)
    with quiet(library):
        config = _fetched(library.AutoConfig, name)
        kind = kind_of(config.architectures, name)
        tokenizer = check_tokenizer(_fetched(library.AutoTokenizer, name), name)
        auto = {
            CAUSAL: library.AutoModelForCausalLM,
            CLASSIFIER: library.AutoModelForSequenceClassification,
        }[kind]
        module = _weights(auto, name, loading)
    title = Path(name).resolve().name if Path(name).is_dir() else name
    return Loaded(module.to(loading.best_device).eval(), tokenizer, kind, title)


def config_of(source: str | Path) -> Any:
    """The configuration alone."""
    library, name = transformers(), checked(source)
    with quiet(library):
        return _fetched(library.AutoConfig, name)


def adopt(module: Any, tokenizer: Any, loading: Loading) -> Loaded:
    """A model somebody already has. It is copied where another device or precision is asked
    for, never changed."""
    library = transformers()
    if not isinstance(module, library.PreTrainedModel):
        raise HeedfulError(
            f"{type(module).__name__} is no model of transformers: give a PreTrainedModel and "
            f"its tokenizer, or an Adapter (heedful.subjects.module)."
        )
    name = type(module).__name__
    kind = kind_of([each.__name__ for each in type(module).__mro__], name)
    dtype = DTYPES.get(loading.dtype or "", module.dtype)
    there = loading.device in ("auto", module.device.type, str(module.device))
    if not there or dtype != module.dtype:
        target = module.device if there else loading.device
        module = copy.deepcopy(module).to(device=target, dtype=dtype)
    return Loaded(module, check_tokenizer(tokenizer, name), kind, name)


def kind_of(architectures: Any, name: str) -> str:
    """What the model was trained to do, by the class it was saved from: a head it was not
    saved with would have random weights."""
    from transformers.models.auto import modeling_auto

    if not isinstance(architectures, (list, tuple)):
        architectures = ()
    for architecture in architectures:
        if architecture.endswith("ForSequenceClassification"):
            return CLASSIFIER
        if architecture in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
            return CAUSAL
    saved = architectures[0] if architectures else "no architecture"
    raise HeedfulError(
        f"{name} ({saved}) neither classifies texts nor writes them: give a model that was "
        f"saved for sequence classification or as a causal language model."
    )


def check_tokenizer(tokenizer: Any, name: str) -> Any:
    if tokenizer is None:
        raise HeedfulError(f"{name} comes without a tokenizer: give both as (model, tokenizer).")
    if not getattr(tokenizer, "is_fast", False):
        raise HeedfulError(
            f"the tokenizer of {name} is not a fast one and cannot say which characters its "
            f"tokens stand for: save it again with a tokenizer.json (AutoTokenizer, use_fast)."
        )
    if len(tokenizer) <= len(set(tokenizer.all_special_ids)):
        raise HeedfulError(
            f"{name} comes without a tokenizer's words: save its tokenizer beside it with "
            f"save_pretrained."
        )
    return tokenizer


def transformers() -> Any:
    try:
        import transformers as library
    except ImportError as error:
        raise HeedfulError(
            "Hugging Face models need transformers: pip install 'heedful[hf]'."
        ) from error
    return library


@contextmanager
def quiet(library: Any) -> Iterator[None]:
    """No progress bars and reports of loading; what matters in them is an error here."""
    logging = library.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _from(name: str) -> dict[str, Any]:
    """A folder is enough by itself: the hub is asked only for what was named by an id."""
    return {**FORBIDDEN, "local_files_only": Path(name).is_dir()}


def _fetched(auto: Any, name: str) -> Any:
    try:
        return auto.from_pretrained(name, **_from(name))
    except Exception as error:  # whatever a config makes of transformers
        raise _reason(error, name) from error


def _weights(auto: Any, name: str, loading: Loading) -> Any:
    try:
        module, report = auto.from_pretrained(
            name,
            dtype=loading.torch_dtype,
            use_safetensors=True,
            output_loading_info=True,
            **_from(name),
        )
    except OSError as error:
        raise HeedfulError(
            f"{name} has no weights in safetensors that can be read, and pickle files are not "
            f"loaded because they can run any code: save it with save_pretrained."
        ) from error
    except Exception as error:
        raise _reason(error, name) from error
    missing = sorted(report["missing_keys"])
    if missing:
        raise HeedfulError(
            f"{name} lacks the weights of {missing[0]} ({len(missing)} in all), which would be "
            f"random: give a model that was trained for this."
        )
    return module


def _reason(error: Exception, name: str) -> HeedfulError:
    """One sentence for what transformers says in many."""
    if "trust_remote_code" in str(error) or _needs_code(name):
        return HeedfulError(
            f"{name} needs code that comes with the model (trust_remote_code), which is never "
            f"run: give a model that transformers knows by itself."
        )
    if Path(name).is_dir():
        return HeedfulError(
            f"{name} cannot be loaded: {_first_sentence(error)}; give a whole folder that "
            f"save_pretrained wrote."
        )
    return not_there(name)


def _first_sentence(error: Exception) -> str:
    line = (str(error).strip().splitlines() or [""])[0].partition(". ")[0].rstrip(".:!")
    return line[:200] or type(error).__name__


def _needs_code(name: str) -> bool:
    path = Path(name) / "config.json"
    try:
        return path.is_file() and "auto_map" in json.loads(path.read_text(encoding="utf8"))
    except (ValueError, TypeError, RecursionError):
        return False
