internal import CSignalbox

/// An ordinary REST call.
public struct HTTPCall: Sendable {
    /// `POST`.
    public var method: String
    /// Absolute.
    public var url: String
    /// Header fields.
    public var headers: [(String, String)] = []
    /// Body.
    public var body: [UInt8] = []
    /// PEM file of trusted roots; empty: the system's.
    public var caFile = ""
    /// For all of it; 0: 10 s.
    public var timeoutMs: UInt32 = 0

    /// Makes a call.
    public init(_ method: String, _ url: String) {
        self.method = method
        self.url = url
    }
}

/// The answer to a REST call.
public struct HTTPAnswer: Sendable {
    /// 200, 401, ...
    public var status: Int
    /// Body.
    public var body: [UInt8]
}

extension Host {
    /// Makes a call and waits for it: only in `start`, `stop` and credential refreshes.
    public func call(_ call: HTTPCall) throws(PluginError) -> HTTPAnswer {
        guard let http else { throw PluginError(.unsupported, "the host offers no HTTP") }
        let arena = Arena()
        let given = arena.array(sbx_http_call.self, 1)
        given.pointee.struct_size = UInt32(MemoryLayout<sbx_http_call>.size)
        given.pointee.method = arena.text(call.method)
        given.pointee.url = arena.text(call.url)
        given.pointee.headers = arena.pairs(call.headers)
        given.pointee.header_count = call.headers.count
        given.pointee.body = arena.bytes(call.body)
        given.pointee.ca_file = arena.text(call.caFile)
        given.pointee.timeout_ms = call.timeoutMs
        let answer = Answer()
        let status = http.pointee.call(
            raw, given,
            { context, answer in
                guard let context, let answer else { return }
                Unmanaged<Answer>.fromOpaque(context).takeUnretainedValue().take(answer.pointee)
            }, Unmanaged.passUnretained(answer).toOpaque())
        guard status == SBX_OK else {
            throw PluginError(.init(code: status), "the call was not taken (status \(status))")
        }
        guard answer.status == SBX_OK else {
            let words: String =
                switch answer.status {
                case SBX_E_UNREACHABLE: "the server is unreachable"
                case SBX_E_TIMEOUT: "the server took too long"
                case SBX_E_TOO_LARGE: "the answer is too large"
                default: "the connection was lost"
                }
            throw PluginError(.init(code: answer.status), words)
        }
        return HTTPAnswer(status: Int(answer.httpStatus), body: answer.body)
    }
}

private final class Answer {
    var status = SBX_E_INTERNAL
    var httpStatus: UInt32 = 0
    var body: [UInt8] = []

    func take(_ answer: sbx_http_answer) {
        status = answer.status
        httpStatus = answer.http_status
        body = Array(answer.body.raw)
    }
}
