"""Runs a SavedModel through TensorFlow's C API alone, as a server in another language would.

    python tests/helpers/c_api.py SAVED_MODEL SITE_PACKAGES < requests.json
    python tests/helpers/c_api.py --ops SITE_PACKAGES > op_list.pb

Each request names the tensors of a signature, `{"inputs": {tensor: [text, …]}, "outputs": {tensor:
"string" | "float" | "int" | "bool"}}`, text with one character for each byte; the answer gives each
output's values, flat. No Python module of TensorFlow is imported: only its shared libraries are
loaded, of any release, so SITE_PACKAGES may be that of another environment.
"""

import ctypes
import json
import sys
from collections.abc import Sequence
from pathlib import Path

# The last one is for WordPiece; that of TensorFlow Text 2.19 does not load without Python.
TEXT_OPS = ("normalize_ops", "sentencepiece_tokenizer", "fast_wordpiece_tokenizer")
STRING_SIZE = 24  # bytes of a TF_TString
TF_STRING = 7
NUMBERS = {"float": ctypes.c_float, "int": ctypes.c_int32, "bool": ctypes.c_bool}


class Output(ctypes.Structure):
    """TF_Output: an operation and the number of its output."""

    _fields_ = [("operation", ctypes.c_void_p), ("index", ctypes.c_int)]


class Buffer(ctypes.Structure):
    """TF_Buffer, without its deallocator."""

    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class Library:
    """TensorFlow's C API, with the ops of TensorFlow Text."""

    def __init__(self, site_packages: Path, text_ops: Sequence[str] = TEXT_OPS) -> None:
        """Loads the shared libraries."""
        folder = site_packages / "tensorflow"
        ctypes.CDLL(str(folder / "libtensorflow_framework.so.2"), mode=ctypes.RTLD_GLOBAL)
        self.c = ctypes.CDLL(str(folder / "libtensorflow_cc.so.2"), mode=ctypes.RTLD_GLOBAL)
        for name in ("TF_NewStatus", "TF_Message", "TF_LoadLibrary", "TF_NewGraph"):
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_NewSessionOptions", "TF_LoadSessionFromSavedModel", "TF_AllocateTensor"):
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_GraphOperationByName", "TF_TensorData", "TF_StringGetDataPointer"):
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_StringGetSize", "TF_TensorElementCount"):
            getattr(self.c, name).restype = ctypes.c_size_t
        self.c.TF_GetAllOpList.restype = ctypes.POINTER(Buffer)
        for name in text_ops:
            status = self.new_status()
            library = site_packages / "tensorflow_text" / "python" / "ops" / f"_{name}.so"
            self.c.TF_LoadLibrary(str(library).encode(), status)
            self.check(status)

    def op_list(self) -> bytes:
        """Returns all op definitions, as a serialized OpList."""
        buffer = self.c.TF_GetAllOpList().contents
        return ctypes.string_at(buffer.data, buffer.length)

    def new_status(self) -> ctypes.c_void_p:
        """Makes a TF_Status; threads must not share one."""
        return ctypes.c_void_p(self.c.TF_NewStatus())

    def check(self, status: ctypes.c_void_p) -> None:
        """Deletes a status, and raises RuntimeError if the call that received it failed."""
        failed = self.c.TF_GetCode(status)
        message = ctypes.string_at(self.c.TF_Message(status)) if failed else b""
        self.c.TF_DeleteStatus(status)
        if failed:
            raise RuntimeError(message.decode(errors="replace"))


class SavedModel(Library):
    """A session of a SavedModel for serving; any number of threads may call `run`."""

    def __init__(
        self, directory: str, site_packages: Path, text_ops: Sequence[str] = TEXT_OPS
    ) -> None:
        """Loads the libraries and the model."""
        super().__init__(site_packages, text_ops)
        self.graph = ctypes.c_void_p(self.c.TF_NewGraph())
        status = self.new_status()
        self.session = ctypes.c_void_p(
            self.c.TF_LoadSessionFromSavedModel(
                ctypes.c_void_p(self.c.TF_NewSessionOptions()),
                None,
                directory.encode(),
                (ctypes.c_char_p * 1)(b"serve"),
                1,
                self.graph,
                None,
                status,
            )
        )
        self.check(status)

    def run(self, inputs: dict[str, list[str]], outputs: dict[str, str]) -> dict[str, list]:
        """Feeds texts and fetches tensors, both by name."""
        fed = (ctypes.c_void_p * len(inputs))(*map(self.pack, inputs.values()))
        fetched = (ctypes.c_void_p * len(outputs))()
        status = self.new_status()
        self.c.TF_SessionRun(
            self.session,
            None,
            self.tensors(list(inputs)),
            fed,
            len(inputs),
            self.tensors(list(outputs)),
            fetched,
            len(outputs),
            None,
            0,
            None,
            status,
        )
        self.delete(fed)
        self.check(status)
        values = {
            name: self.unpack(ctypes.c_void_p(tensor), kind)
            for (name, kind), tensor in zip(outputs.items(), fetched, strict=True)
        }
        self.delete(fetched)
        return values

    def tensors(self, names: list[str]) -> ctypes.Array:
        """Finds tensors by name, such as "serving_default_text:0"."""
        outputs = (Output * len(names))()
        for place, name in zip(outputs, names, strict=True):
            operation, _, index = name.partition(":")
            place.operation = self.c.TF_GraphOperationByName(self.graph, operation.encode())
            place.index = int(index)
        return outputs

    def delete(self, tensors: ctypes.Array) -> None:
        """Frees tensors."""
        for tensor in tensors:
            self.c.TF_DeleteTensor(ctypes.c_void_p(tensor))

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
    if sys.argv[1] == "--ops":
        sys.stdout.buffer.write(Library(Path(sys.argv[2]), TEXT_OPS[:2]).op_list())
        sys.exit()
    model = SavedModel(sys.argv[1], Path(sys.argv[2]))
    requests = json.load(sys.stdin)
    answers = [model.run(request["inputs"], request["outputs"]) for request in requests]
    assert "tensorflow" not in sys.modules
    print(json.dumps(answers))
