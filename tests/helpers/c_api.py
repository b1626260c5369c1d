"""Runs a SavedModel through TensorFlow's C API alone, as a server in another language would.

    python tests/helpers/c_api.py SAVED_MODEL SITE_PACKAGES < requests.json

Each request names the tensors of a signature, `{"inputs": {tensor: [text, …]}, "outputs": {tensor:
"string" | "float" | "int" | "bool"}}`, text with one character for each byte; the answer gives each
output's values, flat. No Python module of TensorFlow is imported: only its shared libraries are
loaded.
"""

import ctypes
import json
import sys
from pathlib import Path

TEXT_OPS = ("normalize_ops", "sentencepiece_tokenizer", "fast_wordpiece_tokenizer")
STRING_SIZE = 24  # bytes of a TF_TString
TF_STRING = 7
NUMBERS = {"float": ctypes.c_float, "int": ctypes.c_int32, "bool": ctypes.c_bool}


class Output(ctypes.Structure):
    """TF_Output: an operation and the number of its output."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class SavedModel:
    """A session of a SavedModel for serving."""

    def __init__(self, directory: str, site_packages: Path) -> None:
        """Loads the libraries and the model."""
        for name in ("libtensorflow_framework.so.2", "libtensorflow_cc.so.2"):
            path = str(site_packages / "tensorflow" / name)
            self.c = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        for name in ("TF_NewStatus", "TF_Message", "TF_LoadLibrary", "TF_NewGraph"):
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_NewSessionOptions", "TF_LoadSessionFromSavedModel", "TF_AllocateTensor"):
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_GraphOperationByName", "TF_TensorData", "TF_StringGetDataPointer"):
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_StringGetSize", "TF_TensorElementCount"):
            getattr(self.c, name).restype = ctypes.c_size_t
        self.status = ctypes.c_void_p(self.c.TF_NewStatus())
        for name in TEXT_OPS:
            library = site_packages / "tensorflow_text" / "python" / "ops" / f"_{name}.so"
            self.c.TF_LoadLibrary(str(library).encode(), self.status)
            self.check()
        self.graph = ctypes.c_void_p(self.c.TF_NewGraph())
        self.session = ctypes.c_void_p(
            self.c.TF_LoadSessionFromSavedModel(
                ctypes.c_void_p(self.c.TF_NewSessionOptions()),
                None,
                directory.encode(),
                (ctypes.c_char_p * 1)(b"serve"),
                1,
                self.graph,
                None,
                self.status,
            )
        )
        self.check()

    def check(self) -> None:
        """Raises RuntimeError if the last call failed."""
        if self.c.TF_GetCode(self.status):
            message = ctypes.c_void_p(self.c.TF_Message(self.status))
            raise RuntimeError(ctypes.string_at(message.value or 0).decode())

    def run(self, inputs: dict[str, list[str]], outputs: dict[str, str]) -> dict[str, list]:
        """Feeds texts and fetches tensors, both by name."""
        fetched = (ctypes.c_void_p * len(outputs))()
        self.c.TF_SessionRun(
            self.session,
            None,
            self.tensors(list(inputs)),
            (ctypes.c_void_p * len(inputs))(*map(self.pack, inputs.values())),
            len(inputs),
            self.tensors(list(outputs)),
            fetched,
            len(outputs),
            None,
            0,
            None,
            self.status,
        )
        self.check()
        return {
            name: self.unpack(ctypes.c_void_p(tensor), kind)
            for (name, kind), tensor in zip(outputs.items(), fetched, strict=True)
        }

    def tensors(self, names: list[str]) -> ctypes.Array:
        """Finds tensors by name, such as "serving_default_text:0"."""
        outputs = (Output * len(names))()
        for place, name in zip(outputs, names, strict=True):
            operation, _, index = name.partition(":")
            place.operation = self.c.TF_GraphOperationByName(self.graph, operation.encode())
            place.index = int(index)
        return outputs

    def pack(self, texts: list[str]) -> int:
        """Makes a tensor of strings."""
        shape = (ctypes.c_int64 * 1)(len(texts))
        size = ctypes.c_size_t(STRING_SIZE * len(texts))
        tensor = self.c.TF_AllocateTensor(TF_STRING, shape, 1, size)
        data = self.c.TF_TensorData(ctypes.c_void_p(tensor))
        for number, text in enumerate(texts):
            place = ctypes.c_void_p(data + STRING_SIZE * number)
            content = text.encode("latin-1")
            self.c.TF_StringInit(place)
            self.c.TF_StringCopy(place, content, ctypes.c_size_t(len(content)))
        return tensor

    def unpack(self, tensor: ctypes.c_void_p, kind: str) -> list:
        """Reads a tensor's values."""
        count = self.c.TF_TensorElementCount(tensor)
        data = self.c.TF_TensorData(tensor)
        if kind in NUMBERS:
            return list((NUMBERS[kind] * count).from_address(data)) if count else []
        places = [ctypes.c_void_p(data + STRING_SIZE * number) for number in range(count)]
        return [
            ctypes.string_at(
                self.c.TF_StringGetDataPointer(place), self.c.TF_StringGetSize(place)
            ).decode("latin-1")
            for place in places
        ]


if __name__ == "__main__":
    model = SavedModel(sys.argv[1], Path(sys.argv[2]))
    requests = json.load(sys.stdin)
    answers = [model.run(request["inputs"], request["outputs"]) for request in requests]
    assert "tensorflow" not in sys.modules
    print(json.dumps(answers))
