import Testing

/// A change of the contract that a test makes to a copy, and the checks that must notice it.
struct Mutation: Sendable, CustomTestStringConvertible {
    let name: String
    let file: String
    let old: String
    let new: String
    /// Whether the change is allowed.
    var isLegal = false
    /// Whether abidiff can see the change: compiled code has no macros or parameter names.
    var isCompiled = true
    /// Where the layout must show the change.
    var sign = ""

    var testDescription: String { name }

    func apply() throws -> Headers {
        let copy = try Headers.current.copy()
        try copy.edit("signalbox/\(file)", old, new)
        return copy
    }

    static let all = [
        Mutation(
            name: "a field at the end of a struct that may grow", file: "model.h",
            old: "} sbx_delivery;", new: "  uint64_t more;\n} sbx_delivery;", isLegal: true),
        Mutation(
            name: "a function at the end of a table", file: "service/log.h", old: "} sbx_log;",
            new: "  void (*flush)(const struct sbx_host *host);\n} sbx_log;", isLegal: true),
        Mutation(
            name: "a comment", file: "types.h", old: "/* Why a call failed, for people.",
            new: "/* Why a call failed.", isLegal: true, isCompiled: false),
        Mutation(
            name: "a new constant", file: "model.h", old: "#define SBX_PRIORITY_HIGH",
            new: "#define SBX_PRIORITY_URGENT 20u\n#define SBX_PRIORITY_HIGH", isLegal: true,
            isCompiled: false),
        Mutation(
            name: "a field in the middle", file: "model.h", old: "  sbx_str provider_id; ",
            new: "  sbx_str inserted; sbx_str provider_id; ",
            sign: "not at the end: field sbx_outcome 80 struct sbx_str inserted"),
        Mutation(
            name: "a field that is gone", file: "model.h", old: "  sbx_str provider_id; ",
            new: "", sign: "field sbx_outcome 80 struct sbx_str provider_id"),
        Mutation(
            name: "another type of the same size", file: "model.h",
            old: "uint64_t retry_after_ms;", new: "int64_t retry_after_ms;",
            sign: "field sbx_outcome 24 uint64_t retry_after_ms"),
        Mutation(
            name: "a pointer to something else", file: "role/http.h",
            old: "  const uint64_t *items;            /* the deliveries or changes",
            new: "  const uint32_t *items;            /* the deliveries or changes",
            sign: "field sbx_http_request 72 const uint64_t * items"),
        Mutation(
            name: "another name of a field", file: "model.h", old: "uint64_t retry_after_ms;",
            new: "uint64_t retry_later_ms;", sign: "field sbx_outcome 24 uint64_t retry_after_ms"),
        Mutation(
            name: "functions of a table in another order", file: "service/metrics.h",
            old: """
                  uint64_t (*counter)(const struct sbx_host *host, sbx_str name, const sbx_kv *labels, size_t n);
                  uint64_t (*gauge)(const struct sbx_host *host, sbx_str name, const sbx_kv *labels, size_t n);
                """,
            new: """
                  uint64_t (*gauge)(const struct sbx_host *host, sbx_str name, const sbx_kv *labels, size_t n);
                  uint64_t (*counter)(const struct sbx_host *host, sbx_str name, const sbx_kv *labels, size_t n);
                """, sign: "field sbx_metrics 8 uint64_t (*)(const struct sbx_host *"),
        Mutation(
            name: "another type of a parameter", file: "service/timer.h", old: "uint64_t ms, void",
            new: "uint32_t ms, void", sign: "function sbx_timer uint64_t (*after)"),
        Mutation(
            name: "another type that is returned", file: "service/clock.h",
            old: "uint64_t (*unix_ms)", new: "int64_t (*unix_ms)",
            sign: "function sbx_clock uint64_t (*unix_ms)"),
        Mutation(
            name: "two parameters of one type that change places", file: "role/ingest.h",
            old: "sbx_str reason, sbx_str detail", new: "sbx_str detail, sbx_str reason",
            isCompiled: false, sign: "function sbx_ingest_sink sbx_status (*reject)"),
        Mutation(
            name: "another type of a callback", file: "service/kv.h",
            old: "sbx_status status, sbx_str value", new: "sbx_status status, sbx_kv value",
            sign: "type void (*sbx_kv_done)"),
        Mutation(
            name: "another type of a status", file: "types.h", old: "typedef int32_t sbx_status",
            new: "typedef uint32_t sbx_status", sign: "type int32_t sbx_status"),
        Mutation(
            name: "a field at the end of a frozen struct", file: "types.h",
            old: "  sbx_str key, value;", new: "  sbx_str key, value, more;",
            sign: "struct sbx_kv 32 align 8"),
        Mutation(
            name: "another signature of the entry", file: "plugin.h",
            old: "SBX_EXPORT const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, ",
            new:
                "SBX_EXPORT const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *host, int32_t minor, ",
            sign: "sbx_plugin_entry_v1"),
        Mutation(
            name: "another value of a constant", file: "types.h", old: "((sbx_status)-5)",
            new: "((sbx_status)-15)", isCompiled: false,
            sign: "constant SBX_E_AGAIN ((sbx_status)-5)"),
        Mutation(
            name: "a constant that is gone", file: "service/json.h",
            old: "#define SBX_JSON_BOOLEAN 1u\n", new: "", isCompiled: false,
            sign: "constant SBX_JSON_BOOLEAN 1u"),
        Mutation(
            name: "another id of a role", file: "role/send.h", old: "\"sbx.role.send/1\"",
            new: "\"sbx.role.send/2\"", isCompiled: false, sign: "id SBX_ROLE_SEND"),
        Mutation(
            name: "another id of a service", file: "service/kv.h", old: "\"sbx.kv/1\"",
            new: "\"sbx.store/1\"", isCompiled: false, sign: "id SBX_SVC_KV"),
    ]
}
