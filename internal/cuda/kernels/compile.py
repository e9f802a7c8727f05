"""Compiles the kernels: CUDA C++ to PTX for compute_80 with NVRTC, for float and double, and shows what ptxas makes of it.

usage: compile.py [--check|--cubins]   from anywhere, in the virtual environment that `make kernels-ptx` makes

Writes the archive ptx.zip: SOURCE_f32.ptx and SOURCE_f64.ptx for every device/SOURCE.cu, but no float64 module for the sources that only
float32 plans use. ptxas compiles them for sm_80 and sm_90; a kernel that spills registers or exceeds its bound of instructions fails. The
archive's comment is a checksum of the sources and of the PTX, which a test of package device compares. A module whose sources did not
change since it was written is kept. With --check it compiles all modules, compares the archive and writes nothing. With --cubins it only
compiles the committed modules into cubins/, which programs embed.
"""

import concurrent.futures
import ctypes
import glob
import gzip
import hashlib
import inspect
import os
import re
import struct
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ARCHIVE = os.path.join(HERE, "ptx.zip")
SITE = sysconfig.get_paths()["purelib"]
ARCHITECTURES = ["sm_80", "sm_90"]
PTX_VERSION = "7.0"  # the oldest that has every instruction here: drivers for CUDA 11.0 and newer load these modules
HOPPER = {"multiply_warpgroups": "8.0"}  # for compute capability 9.0 only, with their PTX version: drivers for CUDA 12.0 and newer
FLOAT32_ONLY = {"convolve", "dequantize", "integers", "multiply_digits", "multiply_warpgroups", "output_digits", "output_digits_wide_1", "output_digits_wide_10", "output_digits_wide_16", "output_digits_wide_2", "output_digits_wide_3", "output_digits_wide_4", "output_digits_wide_8", "output_wide_1", "output_wide_10", "output_wide_16", "output_wide_2", "output_wide_3", "output_wide_4", "output_wide_8", "split"}  # digits and bfloat16 terms: products of float32 plans with 8-bit data

# Passes over a matrix that must not execute many instructions: the elements of an iteration of the main loop, which is the innermost
# loop that loads 128 bits, and the most instructions for an element. The activations are a part of them. output_digits_wide has two
# such loops, one after the other. Kernels for several numbers of scores have two ways to load the scores; the counts include both, or
# are those of the loop with the longer one. In the products with digits and the convolutions, the loop has the multiplications, and an
# element is a multiplication: of 16 x 8 x 32 bytes, 16 x 8 x 8 numbers of tf32, or 16 x 8 x 16 bfloat16 numbers.
BOUNDS = {f"dequantize_{count}_{f}_f32": (8, 40) for count in (2, 3) for f in ("none", "relu", "sigmoid", "blocks")}
# The pass with digits has three multiplications for each score and element: 3 x C instructions of the bound for C scores.
for scores, count, most in ((1, 3, 33), (2, 3, 36), (3, 3, 39), (4, 2, 38), (4, 3, 42), (8, 3, 61), (10, 3, 68), (16, 3, 81)):
    BOUNDS |= {f"output_digits_wide_{scores}_{count}_{f}_f32": (16, most) for f in ("relu", "sigmoid")}
# The passes around an output layer have two multiplications for each score and element backward, and one forward.
for scores, back, forth in ((1, 10, 5), (2, 12, 7), (3, 15, 7), (4, 16, 10), (8, 29, 15), (10, 33, 18), (16, 48, 26)):
    BOUNDS |= {f"output_backward_wide_{scores}_{f}_f32": (16, back) for f in ("relu", "sigmoid", "tanh")}
    BOUNDS |= {f"output_forward_wide_{scores}_{f}_f32": (16, forth + more) for f, more in (("none", 0), ("relu", 4), ("sigmoid", 18))}
BOUNDS |= {f"multiply_digits_{count}_f32": (0, 6) for count in (2, 3)}  # 0: as many as the loop has
# The loop has a second way to read the pictures, for pieces with several places of the window: 8.3, 5.3, 7.5 and 5.3 without it.
BOUNDS |= {f"convolve_{kind}_f32": (0, most) for kind, most in (("tf32_64", 33), ("tf32_128", 18), ("bf16x2_64", 24), ("bf16x3_64", 14))}
BOUNDS |= {f"filter_sums_{kind}_f32": (0, most) for kind, most in (("tf32", 19), ("bf16x2", 20), ("bf16x3", 12))}
LOAD, BRANCH, MULTIPLICATIONS, BYTES = 0x981, 0x947, {0x237, 0x23C}, 0x226  # LDG, BRA, IMMA and HMMA, IDP; the latter without the kinds of its operands
SEVERAL = re.compile("_wide_(8|10|16)_")  # kernels for several numbers of scores, except output_digits_wide_16
WIDTHS = {4: 32, 5: 64, 6: 128}  # bits of a load, by its field

# Passes over vectors, small matrices and losses, which wait for memory or for a chain of operations rather than for the issue of instructions.
# For each loop of a pass: the bits of its loads, their number, the elements of an iteration, and the most instructions for an element.
# Elements of losses are pairs of a row and a class; the loops with two elements are the sigmoid's, the others the logistic function's.
LOOPS = {
    "step_sums": [(32, 16, 4, 31)],
    "descend": [(32, 12, 4, 34)],
    "descend_sized": [(32, 12, 4, 33)],
    "center_int8": [(32, 16, 8, 22), (32, 4, 4, 42)],
    "quantize_int8": [(32, 16, 16, 20), (32, 4, 4, 44)],
    "split_bf16": [(32, 1, 1, 80)],
    "add_parts": [(32, 4, 4, 56)],
    "pack": [(32, 4, 4, 12)],
    "unpack": [(64, 8, 4, 12)],
    "means_margin": [(32, 2, 2, 64), (32, 1, 1, 100)],
    "margin_loss_grad": [(32, 4, 2, 77), (32, 2, 1, 92)],
    # Elements of windows, four channels at a time; patches_sum has a loop with divisions by the distance of the windows, too.
    "patches": [(32, 8, 8, 14)],
    "patches_sum": [(32, 16, 16, 17)],
    "max_pool": [(32, 16, 16, 16)],
    "max_pool_grad": [(32, 4, 4, 15)],
    "normalize": [(32, 4, 4, 12)],
    "normalize_grad": [(32, 8, 4, 19)],
}
LOOPS = {kernel + "_f32": loops for kernel, loops in LOOPS.items()}


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
        module = os.path.basename(source)[:-3]
        self.lib.nvrtcCreateProgram(ctypes.byref(program), code, name, 0, None, None)
        options = [
            b"--gpu-architecture=" + (b"compute_90a" if module in HOPPER else b"compute_80"),
            b"--std=c++17",
            b"-default-device",  # generic lambdas
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
        return re.sub(r"(?m)^\.version .*$", f".version {HOPPER.get(module, PTX_VERSION)}", ptx, count=1)


class Loops:
    """The innermost loops of a kernel that load memory or multiply matrices, from the machine code: their instructions and operations.

    An instruction has 16 bytes, and its lowest 12 bits are the operation. A branch has the distance from the next instruction in units of
    4 bytes: in the bits from 34 on and, for sm_90, eight lower bits in the bits from 16 on. A load has its width in the bits from 73 on.
    """

    def __init__(self, cubin, kernel, arch):
        data = open(cubin, "rb").read()
        table, (size, count, names) = struct.unpack_from("<Q", data, 40)[0], struct.unpack_from("<HHH", data, 58)
        sections = [struct.unpack_from("<IIQQQQ", data, table + i * size) for i in range(count)]
        for name, _, _, _, offset, length in sections:
            begin = sections[names][4] + name
            if data[begin : data.index(b"\0", begin)] == b".text." + kernel.encode():
                self.code = [struct.unpack_from("<QQ", data, offset + i) for i in range(0, length, 16)]
        self.all = []
        for i, (low, high) in enumerate(self.code):
            if low & 0xFFF == BRANCH:
                distance = (low >> 34 | high << 30) & (1 << 48) - 1
                distance -= (distance >> 47) << 48
                if arch == "sm_90":
                    distance = distance << 8 | low >> 16 & 255
                first = i + 1 + distance // 4
                if first < i:
                    self.all.append((first, i + 1))

    def inner(self, wanted):
        """Returns the innermost ones of the loops that have a wanted operation."""
        loops = [a for a in self.all if wanted(a)]
        return [a for a in loops if not any(a != b and a[0] <= b[0] and b[1] <= a[1] for b in loops)]

    def multiplications(self, loop=(0, None)):
        return sum(low & 0xFFF in MULTIPLICATIONS for low, _ in self.code[slice(*loop)])

    def sums(self, loop):
        """Reports whether a loop sums bytes."""
        return any(low & 0x1FF == BYTES & 0x1FF for low, _ in self.code[slice(*loop)])

    def loads(self, bits, loop):
        return sum(low & 0xFFF == LOAD and WIDTHS.get(high >> 9 & 7) == bits for low, high in self.code[slice(*loop)])

    def main(self, kernel):
        """Returns the number of instructions in the loops that load 128 bits or multiply matrices, and of multiplications.

        If a loop is there in several copies, unrolled and not, the shortest counts. If the copies load the scores in different ways, the
        longest counts.
        """
        inner = self.inner(self.multiplications if self.multiplications() else lambda a: self.loads(128, a))
        size = lambda loop: loop[1] - loop[0]
        if kernel.startswith("output_digits"):  # the second pass sums bytes
            passes = [max(map(size, p), default=0) for p in ([a for a in inner if self.sums(a) == second] for second in (False, True))]
            return sum(passes) if all(passes) else 0, 0
        loop = (max if SEVERAL.search(kernel) else min)(inner, key=size, default=(0, 0))
        return loop[1] - loop[0], self.multiplications(loop)

    def each(self, bits, loads, elements):
        """Returns the instructions for an element in the innermost loops with that many loads, 0 if there is none."""
        return max((end - first for first, end in self.inner(lambda a: self.loads(bits, a)) if self.loads(bits, (first, end)) == loads), default=0) / elements


def targets(module):
    """Returns the architectures that a module is compiled for, with ptxas' names of them."""
    return {"sm_90": "sm_90a"} if module in HOPPER else {arch: arch for arch in ARCHITECTURES}


def resources(ptx, module):
    """Yields architecture, kernel, registers, bytes of stack, of shared memory and of spills, instructions for an element, and excesses."""
    ptxas = os.path.join(SITE, "nvidia", "cuda_nvcc", "bin", "ptxas")
    for arch, target in targets(module).items():
        with tempfile.TemporaryDirectory() as folder:
            cubin = os.path.join(folder, "out.cubin")
            done = subprocess.run([ptxas, "-v", f"-arch={target}", ptx, "-o", cubin], capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"{ptx}: {done.stderr}")
            for part in done.stderr.split("Compiling entry function '")[1:]:
                number = lambda pattern: int((re.search(pattern, part) or [0, 0])[1])
                spills = number(r"(\d+) bytes spill stores") + number(r"(\d+) bytes spill loads")
                kernel = part.split("'")[0]
                each, slow = 0, []
                if kernel in BOUNDS:
                    elements, most = BOUNDS[kernel]
                    loop, multiplications = Loops(cubin, kernel, arch).main(kernel)
                    each = loop / (elements or multiplications or 1)
                    slow += [f"{each:.1f}"] if not 0 < each <= most else []
                for bits, loads, elements, most in LOOPS.get(kernel, []):
                    one = Loops(cubin, kernel, arch).each(bits, loads, elements)
                    each += one
                    slow += [f"{one:.1f} in the loop with {loads} loads"] if not 0 < one <= most else []
                yield (arch, kernel, number(r"Used (\d+) registers"), number(r"(\d+) bytes stack"), number(r"(\d+) bytes smem"), spills, each, slow)


EXTRA = struct.pack("<HH", 0x7070, 32)  # begins a module's extra field in the archive, with the digest of the module's inputs


def read_archive():
    """Returns the texts of the archive by the modules' names, the archive's checksum, and the modules that are up to date."""
    if not os.path.exists(ARCHIVE):
        return {}, "", set()
    with zipfile.ZipFile(ARCHIVE) as z:
        texts = {name: z.read(name).decode() for name in z.namelist()}
        current = {m.filename for m in z.infolist() if m.extra == EXTRA + inputs(m.filename, texts[m.filename])}
        return texts, z.comment.decode(), current


def kernels(text):
    """Lists the kernels of a module."""
    return re.findall(r"(?m)^\.visible \.entry (\w+)", text)


def inputs(name, text):
    """Returns the SHA-256 of what a module is compiled from: the source with its headers, the compilers, and the kernels' bounds."""
    module, read = name[: -len("_f32.ptx")], {}

    def include(file):
        path = os.path.join(HERE, "device", file)
        if file not in read and os.path.exists(path):
            with open(path) as f:
                read[file] = f.read()
            for header in re.findall(r'(?m)^#include "(.*)"', read[file]):
                include(header)

    include(module + ".cu")
    with open(os.path.join(HERE, "requirements.txt")) as f:
        read["requirements.txt"] = f.read()
    bounds = [(k, BOUNDS.get(k), LOOPS.get(k)) for k in kernels(text)]
    parts = [sorted(read.items()), inspect.getsource(Compiler), inspect.getsource(resources), PTX_VERSION, HOPPER.get(module), targets(module), bounds]
    return hashlib.sha256(repr(parts).encode()).digest()


def write_archive(texts, checksum):
    """Writes the texts in the order of their names, with the same time, so that equal texts give equal bytes. A text's comment lists its kernels."""
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as z:
        for name, text in sorted(texts.items()):
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.comment, member.extra = " ".join(kernels(text)).encode(), EXTRA + inputs(name, text)
            member.compress_type, member.create_system = zipfile.ZIP_DEFLATED, 3
            z.writestr(member, text)
        z.comment = checksum.encode()


def write_cubins():
    """Compiles the committed modules: cubins/MODULE_TYPE.ARCHITECTURE.HASH.gz, with the first 16 digits of the PTX's SHA-256."""
    folder = os.path.join(HERE, "cubins")
    for old in glob.glob(os.path.join(folder, "*.gz")):
        os.remove(old)
    size = 0
    for name, text in sorted(read_archive()[0].items()):
        digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        for arch, target in targets(name[: -len("_f32.ptx")]).items():
            with tempfile.TemporaryDirectory() as temporary:
                ptx, out = os.path.join(temporary, name), os.path.join(temporary, "out.cubin")
                with open(ptx, "w") as f:
                    f.write(text)
                subprocess.run([os.path.join(SITE, "nvidia", "cuda_nvcc", "bin", "ptxas"), f"-arch={target}", ptx, "-o", out], check=True)
                packed = gzip.compress(open(out, "rb").read(), mtime=0)
            with open(os.path.join(folder, f"{name[:-4]}.{arch}.{digest}.gz"), "wb") as f:
                f.write(packed)
            size += len(packed)
    print(f"{folder}: {size} bytes of compressed machine code")


def checksum(texts):
    """Returns a SHA-256 over the sources, the PTX, this program and the compilers' versions: over a line with name and SHA-256 of each."""
    contents = {name: text.encode() for name, text in texts.items()}
    for pattern in ("device/*.cu", "device/*.cuh", "compile.py", "requirements.txt"):
        for path in glob.glob(os.path.join(HERE, pattern)):
            with open(path, "rb") as f:
                contents[os.path.relpath(path, HERE)] = f.read()
    lines = [f"{name} {hashlib.sha256(content).hexdigest()}\n" for name, content in contents.items()]
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def compiled(compiler, module, dtype):
    """Returns the name of a module's PTX, the PTX, and the resources of its kernels."""
    text = compiler.compile(os.path.join(HERE, "device", module + ".cu"), dtype)
    with tempfile.NamedTemporaryFile("w", suffix=".ptx") as f:
        f.write(text)
        f.flush()
        return f"{module}_{dtype}.ptx", text, list(resources(f.name, module))


def main():
    if sys.argv[1:] == ["--cubins"]:
        return write_cubins()
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    modules = sorted(os.path.basename(f)[:-3] for f in glob.glob(os.path.join(HERE, "device", "*.cu")))
    jobs = [(module, dtype) for module in modules for dtype in (["f32"] if module in FLOAT32_ONLY else ["f32", "f64"])]
    archived, known, current = read_archive()
    kept = set() if check else {f"{module}_{dtype}.ptx" for module, dtype in jobs} & current
    texts, spilling, slow = {name: archived[name] for name in kept}, [], []
    compiler, jobs = Compiler(), [job for job in jobs if "%s_%s.ptx" % job not in kept]
    print(f"{'kernel':32} {'':5} registers stack shared spills instructions/element")
    pool = concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0)))  # NVRTC and ptxas run outside Python's lock
    for name, text, lines in pool.map(lambda job: compiled(compiler, *job), jobs):
        texts[name] = text
        for arch, kernel, registers, stack, shared, spills, each, excesses in lines:
            each = f" {each:10.1f}" if each else ""
            print(f"{kernel:32} {arch} {registers:9} {stack:5} {shared:6} {spills:6}{each}")
            if spills:
                spilling.append(f"{kernel} for {arch}")
            slow += [f"{kernel} for {arch}: {e} for an element" for e in excesses]
    if spilling:
        sys.exit("registers are spilled: " + ", ".join(spilling))
    if slow:
        sys.exit("a loop has too many instructions, or was not found: " + ", ".join(slow))
    stale = sorted(name for name in archived | texts if archived.get(name) != texts.get(name))
    if known != checksum(texts):
        stale.append("checksum")
    if check and stale:
        sys.exit("not what the sources give (make kernels-ptx): " + ", ".join(stale))
    if not check:
        write_archive(texts, checksum(texts))


main()
