"""A program in Python with a gateway inside, without any dependency: ctypes alone.

    LIBSIGNALBOX=/usr/local/lib/libsignalbox.so python3 host.py gateway.yaml DATA_FOLDER
"""
import ctypes as c
import json
import os
import sys
import threading


class Str(c.Structure):
    _fields_ = [("ptr", c.c_char_p), ("len", c.c_size_t)]

    @classmethod
    def of(cls, value):
        data = value if isinstance(value, bytes) else value.encode()
        return cls(data, len(data))

    def text(self):
        return c.string_at(self.ptr, self.len).decode() if self.len else ""


class KV(c.Structure):
    _fields_ = [("key", Str), ("value", Str)]


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("status", c.c_int32), ("provider_code", c.c_uint32),
                ("message", c.c_char * 244)]


class Result(c.Structure):  # the beginning of sbx_delivery_result; struct_size says how much is there
    _fields_ = [("struct_size", c.c_uint32), ("result", c.c_uint32), ("attempt", c.c_uint32),
                ("provider_code", c.c_uint32), ("event_id", c.c_uint64), ("subject", Str),
                ("source", Str), ("route", Str), ("sender", Str)]


class Request(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("method", Str), ("path", Str),
                ("query", Str), ("remote", Str), ("pattern", Str), ("body", Str),
                ("client_certificate", Str), ("params", c.POINTER(KV)), ("param_count", c.c_size_t),
                ("headers", c.POINTER(KV)), ("header_count", c.c_size_t), ("received", c.c_uint64)]


class Answer(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("status", c.c_uint32), ("headers", c.POINTER(KV)),
                ("header_count", c.c_size_t), ("body", Str)]


Log = c.CFUNCTYPE(None, c.c_void_p, c.c_uint32, Str, c.POINTER(KV), c.c_size_t)
Results = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_size_t, c.c_size_t)
Answered = c.CFUNCTYPE(None, c.c_void_p, c.POINTER(Answer))
Text = c.CFUNCTYPE(None, c.c_void_p, Str)


class Options(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("reserved", c.c_uint32), ("config_file", Str),
                ("config_text", Str), ("config_folder", Str), ("data_folder", Str),
                ("plugin_folders", Str), ("program", Str), ("program_version", Str),
                ("context", c.c_void_p), ("log", Log), ("results", Results)]


lib = c.CDLL(os.environ.get("LIBSIGNALBOX", "libsignalbox.so.1"))
P = c.c_void_p
for name, types in {"create": [c.POINTER(Options), c.POINTER(P), c.POINTER(Error)],
                    "start": [P, c.POINTER(Error)],
                    "submit_json": [P, Str, Str, P, P, c.POINTER(Error)],
                    "handle": [P, c.POINTER(Request), Answered, P, c.POINTER(Error)],
                    "metrics": [P, Text, P],
                    "reload": [P, Str, c.POINTER(Error)],
                    "drain": [P, c.c_uint32, c.POINTER(c.c_uint64)],
                    "destroy": [P]}.items():
    function = getattr(lib, "sbx_gateway_" + name)
    function.argtypes, function.restype = types, None if name == "destroy" else c.c_int32


def call(name, *args):
    error = Error(struct_size=c.sizeof(Error))
    if getattr(lib, "sbx_gateway_" + name)(*args, c.byref(error)) != 0:
        sys.exit(f"{name}: {error.message.decode()}")


def main(config, data):
    delivered, three = [], threading.Event()

    @Results
    def on_results(_, start, count, stride):  # on a thread of the gateway
        for index in range(count):
            result = Result.from_address(start + index * stride)
            if result.result == 1:
                delivered.append(result.route.text())
        if len(delivered) >= 3:
            three.set()

    @Log
    def on_log(_, level, message, fields, count):
        if level >= 3:
            print(message.text(), *(f"{f.key.text()}={f.value.text()}" for f in fields[:count]),
                  file=sys.stderr)

    options = Options(struct_size=c.sizeof(Options), config_file=Str.of(config),
                      data_folder=Str.of(data), program=Str.of("shop"), log=on_log,
                      results=on_results)
    gateway = P()
    call("create", c.byref(options), c.byref(gateway))
    call("start", gateway)
    event = {"type": "order.shipped", "data": {"title": {"en": "Shipped", "de": "Versandt"}},
             "recipients": [{"platform": "ios", "token": "a", "locale": "de"},
                            {"platform": "ios", "token": "b"}]}
    call("submit_json", gateway, Str.of("shop"), Str.of(json.dumps(event)), None, None)
    webhook = {"devices": [{"identifier": "c", "type": "ios"}],
               "notification": {"title": "T", "body": "B", "ticket_id": "5"}}
    status = []
    on_answer = Answered(lambda _, answer: status.append(answer.contents.status))
    call("handle", gateway, c.byref(Request(
        struct_size=c.sizeof(Request), method=Str.of("POST"), path=Str.of("/in/zendesk"),
        body=Str.of(json.dumps(webhook)))), on_answer, None)
    if status != [200]:
        sys.exit(f"the webhook was answered {status}")
    if not three.wait(30):
        sys.exit(f"only {len(delivered)} of 3 were delivered")
    numbers = []
    lib.sbx_gateway_metrics(gateway, Text(lambda _, text: numbers.append(text.text())), None)
    if "signalbox_deliveries_total" not in numbers[0]:
        sys.exit("the metrics do not count deliveries")
    call("reload", gateway, Str.of(""))
    left = c.c_uint64()
    lib.sbx_gateway_drain(gateway, 5000, c.byref(left))
    lib.sbx_gateway_destroy(gateway)
    print(f"delivered {len(delivered)}, left {left.value}")


if __name__ == "__main__":
    main(*sys.argv[1:])
