"""Compiles the kernels: CUDA C++ to PTX for compute_80 with NVRTC, for float and double, and shows what ptxas makes of it.

usage: compile.py [--check]   from anywhere, in the virtual environment that `make kernels-ptx` makes

Writes ptx/SOURCE_f32.ptx and ptx/SOURCE_f64.ptx for every device/SOURCE.cu, but no float64 module for the sources that only float32 plans
use. With --check it compares the files and writes nothing. ptxas compiles them for sm_80 and sm_90; a kernel that spills registers fails.
"""

import ctypes
import glob
import os
import re
import subprocess
import sys
import sysconfig
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SITE = sysconfig.get_paths()["purelib"]
ARCHITECTURES = ["sm_80", "sm_90"]
PTX_VERSION = "7.0"  # the oldest that has every instruction here: drivers for CUDA 11.0 and newer load these modules
FLOAT32_ONLY = {"integers", "output_digits", "split"}  # digits and bfloat16 terms: products of float32 plans with 8-bit data


class Compiler:
    """NVRTC."""

    def __init__(self):
        lib = os.path.join(SITE, "nvidia", "cuda_nvrtc", "lib", "libnvrtc.so.12")
        self.lib = ctypes.CDLL(lib)

    def text(self, program, size, get):
        n = ctypes.c_size_t()
        getattr(self.lib, size)(program, ctypes.byref(n))
        buffer = ctypes.create_string_buffer(n.value)
        getattr(self.lib, get)(program, buffer)
        return buffer.value.decode()

    def compile(self, source, dtype):
        """Returns the PTX of a source."""
        program = ctypes.c_void_p()
        with open(source, "rb") as f:
            code = f.read()
        name = os.path.basename(source).encode()
        self.lib.nvrtcCreateProgram(ctypes.byref(program), code, name, 0, None, None)
        options = [
            b"--gpu-architecture=compute_80",
            b"--std=c++17",
            b"-I" + os.path.dirname(source).encode(),
            b"-DPPAL_" + dtype.upper().encode(),
        ]
        failed = self.lib.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
        log = self.text(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").strip()
        if log:
            print(log, file=sys.stderr)
        if failed or "warning" in log:
            sys.exit(f"{source}, {dtype}: NVRTC failed or warned")
        ptx = self.text(program, "nvrtcGetPTXSize", "nvrtcGetPTX").rstrip("\n") + "\n"
        return re.sub(r"(?m)^\.version .*$", f".version {PTX_VERSION}", ptx, count=1)


def resources(ptx):
    """Yields architecture, kernel, registers, bytes of stack, of shared memory and of spills."""
    ptxas = os.path.join(SITE, "nvidia", "cuda_nvcc", "bin", "ptxas")
    for arch in ARCHITECTURES:
        with tempfile.TemporaryDirectory() as folder:
            command = [ptxas, "-v", f"-arch={arch}", ptx, "-o", os.path.join(folder, "out.cubin")]
            done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{ptx}: {done.stderr}")
        for part in done.stderr.split("Compiling entry function '")[1:]:
            number = lambda pattern: int((re.search(pattern, part) or [0, 0])[1])
            spills = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
            yield arch, part.split("'")[0], number(r"Used (\d+) registers"), number(r"(\d+) bytes stack"), number(r"(\d+) bytes smem"), spills


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    compiler, stale, spilling = Compiler(), [], []
    wanted = set()
    print(f"{'kernel':32} {'':5} registers stack shared spills")
    for source in sorted(glob.glob(os.path.join(HERE, "device", "*.cu"))):
        module = os.path.basename(source)[:-3]
        for dtype in ["f32"] if module in FLOAT32_ONLY else ["f32", "f64"]:
            path = os.path.join(HERE, "ptx", f"{module}_{dtype}.ptx")
            wanted.add(path)
            text = compiler.compile(source, dtype)
            old = open(path).read() if os.path.exists(path) else ""
            if text != old:
                stale.append(os.path.relpath(path, HERE))
            with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
                f.write(text)
                f.flush()
                for arch, kernel, registers, stack, shared, spills in resources(f.name):
                    print(f"{kernel:32} {arch} {registers:9} {stack:5} {shared:6} {spills:6}")
                    if spills:
                        spilling.append(f"{kernel} for {arch}")
            if not check and text != old:
                with open(path, "w") as f:
                    f.write(text)
    for path in sorted(set(glob.glob(os.path.join(HERE, "ptx", "*.ptx"))) - wanted):
        stale.append(os.path.relpath(path, HERE))
        if not check:
            os.remove(path)
    if spilling:
        sys.exit("registers are spilled: " + ", ".join(spilling))
    if check and stale:
        sys.exit("not what the sources give (make kernels-ptx): " + ", ".join(stale))


main()
