"""The weights in an ONNX file, by the names they had in the module that was exported.

Exporters keep the names of embeddings, norms and biases, and number the matrices of linear layers.
A matrix is named here after the bias that is added to its product. 8-bit weights become
(w − zero point) · scale, of which both stand beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from heedful.errors import HeedfulError

Array = NDArray[Any]
_PARAMETER = re.compile(r"[A-Za-z_]\w*(\.\w+)*\.(weight|bias)")
_LOOKED_THROUGH = {"Cast", "Mul", "QuantizeLinear", "DequantizeLinear", "Identity"}
"""Steps between a product and the sum with its bias, in graphs of 8-bit models."""
_ROUNDING = {"Cast", "QuantizeLinear", "DequantizeLinear", "Identity"}
_QUANTISED = "_quantized"


class OnnxGraph:
    """The constants of a graph, and which node makes which value."""

    def __init__(self, file: Path) -> None:
        self._model = _read(file)
        graph = self._model.graph
        from onnx import TensorProto, numpy_helper

        self.nodes: list[Any] = []
        self.constants: dict[str, Array] = {}
        for tensor in graph.initializer:
            if tensor.data_location == TensorProto.EXTERNAL:
                raise HeedfulError(
                    f"{file.name} keeps its weights in another file ({tensor.name}): export the "
                    f"model into one file."
                )
            self.constants[tensor.name] = numpy_helper.to_array(tensor)
        for node in graph.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
            else:
                self.nodes.append(node)
        self.maker = {name: node for node in self.nodes for name in node.output}
        known = {tensor.name for tensor in graph.initializer}
        self.inputs = [value.name for value in graph.input if value.name not in known]

    @property
    def quantised(self) -> bool:
        """Whether some weights have 8 bits."""
        return any(name.endswith(_QUANTISED) for name in self.constants)

    def unrounded(self) -> bytes | None:
        """The file without the steps that round activations to 8 bits on a fixed scale; None where
        it has none. Its weights stay as they are."""
        from onnx import ModelProto

        plain = ModelProto()
        plain.CopyFrom(self._model)
        given: dict[str, str] = {}
        for node in plain.graph.node:
            if node.op_type == "QuantizeLinear":
                given[node.output[0]] = given.get(node.input[0], node.input[0])
            elif node.op_type == "DequantizeLinear" and node.input[0] in given:
                given[node.output[0]] = given[node.input[0]]
        if not given:
            return None
        kept = [node for node in plain.graph.node if not given.keys() & set(node.output)]
        for node in kept:
            for place, name in enumerate(node.input):
                node.input[place] = given.get(name, name)
        del plain.graph.node[:]
        plain.graph.node.extend(kept)
        whole: bytes = plain.SerializeToString()
        return whole

    def step_before(self, bias: str) -> str:
        """The kind of step that makes what a linear layer, known by its bias, reads."""
        node = next((node for node in self.nodes if bias in node.input), None)
        if node is not None and node.op_type == "Add":
            node = self._product(next(name for name in node.input if name != bias))
        made = None if node is None else self.maker.get(node.input[0])
        while made is not None and made.op_type in _ROUNDING:
            made = self.maker.get(made.input[0])
        return "" if made is None else str(made.op_type)

    def weights(self) -> dict[str, Tensor]:
        """Parameters by name, float32, laid out as torch has them: [out, in] for a linear layer."""
        found = {name: array for name, array in self._named() if _PARAMETER.fullmatch(name)}
        found |= dict(self._linear())
        arrays = {name: np.ascontiguousarray(array, np.float32) for name, array in found.items()}
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}

    def _named(self) -> Iterator[tuple[str, Array]]:
        for name, array in self.constants.items():
            if np.issubdtype(array.dtype, np.floating):
                yield name, array
            elif name.endswith(_QUANTISED):
                yield name.removesuffix(_QUANTISED), self._dequantised(name)
        for node in self.nodes:  # equal tensors are kept once, under the name of one of them
            if node.op_type == "Identity" and node.input[0] in self.constants:
                yield node.output[0], self.constants[node.input[0]]

    def _linear(self) -> Iterator[tuple[str, Array]]:
        for node in self.nodes:
            biases = [name for name in node.input if name.endswith(".bias")]
            if not biases:
                continue
            name = biases[0].removesuffix("bias") + "weight"
            if node.op_type == "Gemm":
                yield name, self._constant(node.input[1], turned=not _flag(node, "transB"))
            if node.op_type == "Add":
                other = next((value for value in node.input if value != biases[0]), "")
                product = self._product(other)
                if product is not None:
                    yield name, self._constant(product.input[1], turned=True)

    def _product(self, value: str) -> Any | None:
        """The node that multiplies by a constant matrix, before steps of 8-bit graphs."""
        node = self.maker.get(value)
        while node is not None and node.op_type in _LOOKED_THROUGH:
            made = [self.maker[name] for name in node.input if name in self.maker]
            node = next((each for each in made if self._leads(each)), None)
        if node is None or node.op_type not in ("MatMul", "MatMulInteger"):
            return None
        return node if self._array(node.input[1]) is not None else None

    def _leads(self, node: Any) -> bool:
        return node.op_type in _LOOKED_THROUGH | {"MatMul", "MatMulInteger"}

    def _constant(self, name: str, turned: bool) -> Array:
        array = self._array(name)
        if array is None:
            raise HeedfulError(f"the weight {name!r} is not in the file: export the model again.")
        return array.T if turned else array

    def _array(self, name: str) -> Array | None:
        """A constant, or what is made of one by a step that only dequantises or turns it."""
        if name in self.constants:
            array = self.constants[name]
            if np.issubdtype(array.dtype, np.floating) or not name.endswith(_QUANTISED):
                return array
            return self._dequantised(name)
        node = self.maker.get(name)
        if node is None or node.op_type not in ("DequantizeLinear", "Transpose", "Identity"):
            return None
        inner = self._array(node.input[0])
        return inner.T if inner is not None and node.op_type == "Transpose" else inner

    def _dequantised(self, name: str) -> Array:
        stem = name.removesuffix(_QUANTISED)
        scale = self.constants.get(f"{stem}_scale")
        if scale is None:
            raise HeedfulError(f"the 8-bit weight {stem!r} has no scale: export the model again.")
        zero = self.constants.get(f"{stem}_zero_point", np.zeros(1))
        whole: Array = (self.constants[name].astype(np.float32) - zero.astype(np.float32)) * scale
        return whole


def missing(name: str) -> HeedfulError:
    """A package that reads the file is not installed."""
    return HeedfulError(f"{name} is missing: pip install 'heedful[import]'.")


def _read(file: Path) -> Any:
    try:
        import onnx
    except ImportError as error:
        raise missing("onnx") from error
    try:
        model = onnx.load(str(file), load_external_data=False)
    except Exception as error:  # protobuf's own
        raise HeedfulError(f"{file} is no ONNX file: give one that an exporter wrote.") from error
    if not model.graph.node:
        raise HeedfulError(f"{file} holds no graph: give a file that an exporter wrote.")
    return model


def _flag(node: Any, name: str) -> bool:
    return any(attribute.name == name and attribute.i for attribute in node.attribute)
