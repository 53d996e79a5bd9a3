"""`heedful import`: a model's folder of an ONNX or a GGUF file."""

from __future__ import annotations

from pathlib import Path

from heedful.cli.options import JsonOption, argument, option, spread
from heedful.cli.output import Output, check_outputs, next_step, show_result


@spread
def import_file(
    file: Path = argument("An .onnx or a .gguf file.", ...),
    out: Path = option("New folder of the model.", ..., "--out", "-o"),
    tokenizer: Path | None = option("tokenizer.json of an ONNX file, if it is not beside it."),
    labels: str | None = option("Names of the classes in their order: negative,positive."),
    as_json: JsonOption = False,
) -> None:
    """Make a model's folder of an ONNX or a GGUF file.

    ONNX files hold BERT, DistilBERT or RoBERTa classifiers; their logits are compared with
    onnxruntime's. GGUF files hold language models, whose weights are dequantised. A model whose
    logits differ is refused.

    Examples:
      heedful import model.onnx -o classifier --labels negative,positive
      heedful import model.gguf -o language-model
    """
    from heedful.models import FOLDER, import_model

    check_outputs(Output("-o", out, FOLDER), inputs=(file, tokenizer))
    names = () if labels is None else tuple(name.strip() for name in labels.split(","))
    done = import_model(file, out, tokenizer, names)
    show_result(
        "import",
        as_json,
        vars(done),
        f"{done.folder}: {done.architecture}, {done.parameters:,} parameters",
        f"compared with {done.compared}: logits differ by at most {done.difference:.2g}, "
        f"{done.agreement:.0%} of decisions are the same",
        *(f"Note: {note}" for note in done.notes),
    )
    next_step(f"heedful audit {out} DATA")
