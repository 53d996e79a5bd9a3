"""A model's files, looked through before anything of them is loaded."""

from __future__ import annotations

from pathlib import Path

from heedful.errors import HeedfulError

PICKLES = (".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt")
_PATIENCE = 10.0  # seconds for the hub's first answer


def checked(source: str | Path) -> str:
    """The folder, or the id of a model the hub has; everything else is refused."""
    if not str(source).strip():
        raise HeedfulError(f"the model is called {str(source)!r}: give its folder or a hub id.")
    path = Path(source).expanduser()
    if path.is_dir():
        _check_folder(path)
        return str(path)
    if path.suffix in PICKLES:
        raise _pickle(path.name)
    if path.is_file():
        raise HeedfulError(f"{path} is a file: give the folder that holds config.json.")
    if isinstance(source, Path) or source.startswith((".", "/", "~")):
        raise HeedfulError(f"there is no folder {path}: give a model's folder or a hub id.")
    _check_hub(source)
    return source


def not_there(name: str) -> HeedfulError:
    return HeedfulError(
        f"{name!r} is no folder here and could not be had from the Hugging Face hub (no such "
        f"id, no permission, or no connection): give the folder of a model that save_pretrained "
        f"wrote."
    )


def _check_folder(path: Path) -> None:
    if not (path / "config.json").is_file():
        raise HeedfulError(f"{path} holds no config.json: give a folder save_pretrained wrote.")
    if list(path.glob("*.safetensors")):
        return
    found = sorted(each.name for each in path.iterdir() if each.suffix in PICKLES)
    if found:
        raise _pickle(f"{path.name}/{found[0]}")
    raise HeedfulError(f"{path} holds no weights: it needs a model.safetensors.")


def _check_hub(name: str) -> None:
    """One quick question: loading would ask again and again where there is no connection."""
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    problems: tuple[type[BaseException], ...] = (OSError, ValueError, *HfHubHTTPError.__bases__)
    try:
        cached = huggingface_hub.try_to_load_from_cache(name, "config.json")
        if not isinstance(cached, str):
            huggingface_hub.model_info(name, timeout=_PATIENCE)
    except problems as error:
        raise not_there(name) from error


def _pickle(name: str) -> HeedfulError:
    return HeedfulError(
        f"{name} is a pickle file, which can run any code when it is loaded: convert the model "
        f"with save_pretrained, which writes safetensors."
    )
