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
    /// PEM file of trusted roots; empty for the system's.
    public var caFile = ""
    /// For the whole call; 0 for 10 s.
    public var timeoutMs: UInt32 = 0
    /// Most redirects to follow; 0 for none.
    public var redirectsMax: UInt32 = 0
    /// Refuse loopback, link-local and private addresses, after DNS; for URLs from untrusted input.
    public var refusesPrivateAddresses = false

    /// Makes a call.
    public init(_ method: String, _ url: String) {
        self.method = method
        self.url = url
    }

    func raw(_ arena: Arena) -> UnsafePointer<sbx_http_call> {
        let given = arena.array(sbx_http_call.self, 1)
        given.pointee.struct_size = UInt32(MemoryLayout<sbx_http_call>.size)
        given.pointee.flags = refusesPrivateAddresses ? SBX_HTTP_NO_PRIVATE : 0
        given.pointee.method = arena.text(method)
        given.pointee.url = arena.text(url)
        given.pointee.headers = arena.pairs(headers)
        given.pointee.header_count = headers.count
        given.pointee.body = arena.bytes(body)
        given.pointee.ca_file = arena.text(caFile)
        given.pointee.timeout_ms = timeoutMs
        given.pointee.redirects_max = redirectsMax
        return UnsafePointer(given)
    }
}

/// The answer to a REST call.
public struct HTTPAnswer: Sendable {
    /// 200, 401, ...
    public var status: Int
    /// Names in lower case.
    public var headers: [(String, String)] = []
    /// Body.
    public var body: [UInt8]

    /// The first value of a header field, or nil.
    public func header(_ name: String) -> String? { headers.first { $0.0 == name }?.1 }

    init(_ answer: sbx_http_answer) {
        status = Int(answer.http_status)
        headers = texts(answer.headers, answer.header_count)
        body = Array(answer.body.raw)
    }
}

extension Host {
    /// Makes a call and waits for its answer; allowed only in `start`, `stop` and credential refreshes.
    public func call(_ call: HTTPCall) throws(PluginError) -> HTTPAnswer {
        let arena = Arena()
        let answer = Answer()
        try check("the host rejected the call") {
            services.http.call?(
                raw, call.raw(arena),
                { context, answer in
                    guard let context, let given = answer?.known(sbx_http_answer()) else { return }
                    Unmanaged<Answer>.fromOpaque(context).takeUnretainedValue().result =
                        Host.result(given.status, HTTPAnswer(given))
                }, Unmanaged.passUnretained(answer).toOpaque())
        }
        return try (answer.result ?? .failure(PluginError(.internal, "there is no answer"))).get()
    }
}

private final class Answer {
    var result: Result<HTTPAnswer, PluginError>?
}
