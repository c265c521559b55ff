"""Functions of loop IR as code: LLVM's for processors and GPUs, and text. This is the face for siblings."""

from sateen.tensor_ir.codegen.companion import companion_codes
from sateen.tensor_ir.codegen.compile_requests import answer_of, answer_with, code_of
from sateen.tensor_ir.codegen.executor_pool import ExecutorPool
from sateen.tensor_ir.codegen.kinds import TARGET_KINDS, c_network
from sateen.tensor_ir.codegen.llvm.freestanding import freestanding_text
from sateen.tensor_ir.codegen.llvm.parameters import PARAMETER_SYMBOLS, PARAMETERS_TEXT, STATIC_PARAMETERS_TEXT
from sateen.tensor_ir.codegen.object_cache import ObjectCache, cache_key, code_key, source_digest
from sateen.tensor_ir.codegen.object_code import ObjectCode, compile_functions, machine_of
from sateen.tensor_ir.codegen.signature import signature_of
from sateen.tensor_ir.codegen.workers import CompilerPool, Compilers, receive_message, send_message, serve

__all__ = [
    "PARAMETERS_TEXT",
    "PARAMETER_SYMBOLS",
    "STATIC_PARAMETERS_TEXT",
    "TARGET_KINDS",
    "CompilerPool",
    "Compilers",
    "ExecutorPool",
    "ObjectCache",
    "ObjectCode",
    "answer_of",
    "answer_with",
    "c_network",
    "cache_key",
    "code_key",
    "code_of",
    "companion_codes",
    "compile_functions",
    "freestanding_text",
    "machine_of",
    "receive_message",
    "send_message",
    "serve",
    "signature_of",
    "source_digest",
]
