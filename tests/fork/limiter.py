"""The C ABI by plain ctypes: as much of it as these tests need."""
import ctypes

POLICY = b"attack: 9007199254740991/366d"


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint64), ("busy_timeout_ms", ctypes.c_int64),
                ("rest", ctypes.c_int64 * 12)]


class Limiter:
    library = None

    def __init__(self, store):
        if Limiter.library is None:
            Limiter.library = ctypes.CDLL("libratelite.so.1")
            Limiter.library.rl_last_error.restype = ctypes.c_char_p
        options = Options(struct_size=16, busy_timeout_ms=20_000)
        self.handle = ctypes.c_void_p()
        self.check(self.library.rl_open(store.encode(), POLICY, ctypes.byref(options),
                                        ctypes.byref(self.handle)))

    def check(self, code):
        if code != 0:
            raise RuntimeError(f"{code}: {self.library.rl_last_error().decode()}")

    def hit(self, key=b"k"):
        result = (ctypes.c_int64 * 16)()
        self.check(self.library.rl_hit(self.handle, None, key, ctypes.c_size_t(len(key)),
                                       ctypes.c_int64(1), ctypes.c_int64(-1), result))
