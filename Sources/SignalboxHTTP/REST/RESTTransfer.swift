internal import CCurl
internal import SignalboxCore

/// One call while libcurl works on it.
///
/// Used only on the client's thread.
final class RESTTransfer {
    let done: RESTClient.Done
    private let handle: UnsafeMutableRawPointer
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private var headers: [Attribute] = []
    private var trailerCount = 0
    private var body: [UInt8] = []
    private var isTooLarge = false
    /// The head of the final answer is complete.
    private var hasHead = false
    private let cutsBody: Bool
    private let answerBytesMax: Int
    private let proxy: ProxyAddress?
    private let isWithoutTunnel: Bool
    /// `api.example.com:443`; empty for a Unix socket.
    private let place: String
    /// Set by libcurl's call for a socket; libcurl has the pointer.
    private let hasRefused: UnsafeMutablePointer<Int32>

    /// Sets up a handle; nil if libcurl refuses the call or has no memory.
    init?(_ call: RESTCall, isOfPublicPool: Bool, done: @escaping RESTClient.Done) {
        guard let handle = curl_easy_init() else { return nil }
        self.handle = handle
        self.done = done
        cutsBody = call.cutsBody
        answerBytesMax = call.answerBytesMax
        proxy = call.proxy
        isWithoutTunnel = call.url.lowercased().hasPrefix("http://")
        place =
            call.socket == nil ? RESTOrigin(call.url).map { "\($0.host):\($0.port)" } ?? "" : ""
        hasRefused = .allocate(capacity: 1)
        hasRefused.initialize(to: 0)
        guard configure(call, isOfPublicPool) else { return nil }
    }

    deinit {
        curl_easy_cleanup(handle)
        curl_slist_free_all(headerList)
        hasRefused.deallocate()
    }

    /// The handle for `curl_multi_add_handle`; it keeps this object alive until `release`.
    func retain() -> UnsafeMutableRawPointer {
        let context = Unmanaged.passRetained(self).toOpaque()
        csbx_curl_sinks(
            handle,
            { bytes, size, count, context in
                RESTTransfer.from(context)?.takeHeader(bytes, size * count) ?? 0
            },
            { bytes, size, count, context in
                RESTTransfer.from(context)?.takeBody(bytes, size * count) ?? 0
            }, context)
        return handle
    }

    /// The transfer of a handle, which no longer keeps it alive.
    static func release(_ handle: UnsafeMutableRawPointer?) -> RESTTransfer? {
        csbx_curl_context(handle).map {
            Unmanaged<RESTTransfer>.fromOpaque($0).takeRetainedValue()
        }
    }

    /// The result of the call.
    func result(_ code: CURLcode) -> Result<RESTAnswer, RESTFault> {
        if proxy != nil, let words = refusalOfProxy {
            return .failure(RESTFault(kind: .unreachable, message: through + words))
        }
        if code == CURLE_OK || cutsBody && hasHead {
            let status = UInt32(clamping: csbx_curl_status(handle))
            return .success(
                RESTAnswer(
                    status: status, headers: headers, body: body, trailerCount: trailerCount))
        }
        let words = Self.words(code)
        let kind: RESTFault.Kind =
            switch code {
            case _ where isTooLarge: .tooLarge
            case CURLE_COULDNT_CONNECT where hasRefused.pointee != 0: .privateAddress
            case CURLE_OPERATION_TIMEDOUT: .timeout
            case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT,
                CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION,
                CURLE_SSL_CACERT_BADFILE:
                .unreachable
            case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: .invalid
            default: .lost
            }
        switch kind {
        case .tooLarge:
            return .failure(
                RESTFault(
                    kind: kind, message: "the answer is over \(answerBytesMax >> 20) MiB"))
        case .privateAddress: return .failure(.privateAddress)
        case .timeout where hasNotBegun, .lost where hasNotBegun:
            // The proxy made no connection, so nothing was sent.
            return .failure(RESTFault(kind: .unreachable, message: through + words))
        default: return .failure(RESTFault(kind: kind, message: through + words))
        }
    }

    private var hasNotBegun: Bool { proxy != nil && csbx_curl_has_begun(handle) == 0 }
    private var through: String {
        (place.isEmpty ? "" : "\(place): ") + (proxy.map { "through \($0): " } ?? "")
    }

    private static func words(_ code: CURLcode) -> String {
        switch code {
        case CURLE_PEER_FAILED_VERIFICATION:
            "its certificate is not trusted, or is not that host's; check the CA file"
        // What libcurl says of a head over its own limit, too.
        case CURLE_OUT_OF_MEMORY: "the head of the answer is too large, or memory is short"
        case CURLE_COULDNT_CONNECT: "no connection: refused, or no way there"
        default: String(cString: curl_easy_strerror(code))
        }
    }

    /// What the proxy said instead of making the connection.
    private var refusalOfProxy: String? {
        let status = csbx_curl_connect_status(handle)
        if status != 0, !(200..<300).contains(status) {
            return ProxyFault.refusal(status).description
        }
        // Without CONNECT only a proxy answers this.
        guard isWithoutTunnel, csbx_curl_status(handle) == 407 else { return nil }
        return ProxyFault.refusal(407).description
    }

    private func configure(_ call: RESTCall, _ isOfPublicPool: Bool) -> Bool {
        // A line break in a field would inject another field.
        guard call.headers.allSatisfy({ Self.isPlain($0.key) && Self.isPlain($0.value) }),
            Self.isPlain(call.method), Self.isPlain(call.url)
        else { return false }
        for header in call.headers {
            headerList = curl_slist_append(headerList, "\(header.key): \(header.value)")
        }
        // libcurl waits a second for "100 Continue" before a large body otherwise.
        headerList = curl_slist_append(headerList, "Expect:")
        var isSound =
            csbx_curl_text(handle, CURLOPT_URL, call.url) == CURLE_OK
            && csbx_curl_text(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK
            && csbx_curl_text(handle, CURLOPT_REDIR_PROTOCOLS_STR, "https") == CURLE_OK
            && csbx_curl_list(handle, headerList) == CURLE_OK
        if let socket = call.socket {
            isSound =
                isSound && csbx_curl_text(handle, CURLOPT_UNIX_SOCKET_PATH, socket) == CURLE_OK
        }
        csbx_curl_long(handle, CURLOPT_NOSIGNAL, 1)
        // Keep the path as written, including `.` and `..`.
        csbx_curl_long(handle, CURLOPT_PATH_AS_IS, 1)
        csbx_curl_long(handle, CURLOPT_TIMEOUT_MS, Int(max(1, call.timeoutMs)))
        csbx_curl_long(handle, CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, call.timeoutMs)))
        csbx_curl_long(handle, CURLOPT_FOLLOWLOCATION, call.redirectsMax > 0 ? 1 : 0)
        csbx_curl_long(handle, CURLOPT_MAXREDIRS, Int(call.redirectsMax))
        if call.method == "HEAD" { csbx_curl_long(handle, CURLOPT_NOBODY, 1) }
        if !call.body.isEmpty || call.method == "POST" {
            let isTaken = call.body.withUnsafeBytes { bytes in
                csbx_curl_body(
                    handle, bytes.baseAddress?.assumingMemoryBound(to: CChar.self) ?? nil,
                    bytes.count) == CURLE_OK
            }
            isSound = isSound && isTaken
        }
        isSound = isSound && csbx_curl_text(handle, CURLOPT_CUSTOMREQUEST, call.method) == CURLE_OK
        if let file = call.caFile {
            isSound = isSound && csbx_curl_text(handle, CURLOPT_CAINFO, file) == CURLE_OK
        }
        csbx_curl_close_on_exec(handle)
        isSound = isSound && csbx_curl_names_required(handle) == CURLE_OK
        // Set in any case, so that libcurl reads no variable.
        isSound = isSound && csbx_curl_text(handle, CURLOPT_NOPROXY, "") == CURLE_OK
        guard let proxy else {
            isSound = isSound && csbx_curl_text(handle, CURLOPT_PROXY, "") == CURLE_OK
            if isOfPublicPool {
                csbx_curl_public_pool(handle, hasRefused)
            } else if call.refusesPrivateAddresses {
                csbx_curl_public_only(handle, hasRefused)
            }
            return isSound
        }
        // The proxy would follow to an address that was not looked at.
        if isOfPublicPool || call.refusesPrivateAddresses {
            csbx_curl_long(handle, CURLOPT_FOLLOWLOCATION, 0)
        } else {
            csbx_curl_text(handle, CURLOPT_NOPROXY, "localhost,127.0.0.0/8,::1")
        }
        csbx_curl_long(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        return isSound && use(proxy)
    }

    private func use(_ proxy: ProxyAddress) -> Bool {
        guard csbx_curl_text(handle, CURLOPT_PROXY, "\(proxy)") == CURLE_OK else { return false }
        guard let credentials = proxy.credentials, let colon = credentials.firstIndex(of: ":")
        else { return true }
        let password = String(credentials[credentials.index(after: colon)...])
        return csbx_curl_text(handle, CURLOPT_PROXYUSERNAME, String(credentials[..<colon]))
            == CURLE_OK && csbx_curl_text(handle, CURLOPT_PROXYPASSWORD, password) == CURLE_OK
    }

    private static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 } }

    private static func from(_ context: UnsafeMutableRawPointer?) -> RESTTransfer? {
        context.map { Unmanaged<RESTTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    private func takeHeader(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let raw = UnsafeRawBufferPointer(start: bytes, count: count)
        let line = String(decoding: raw.prefix { $0 != 0x0D && $0 != 0x0A }, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // A new answer begins: after a redirect, or the final one after "100 Continue".
            (headers, trailerCount, hasHead) = ([], 0, false)
        } else if line.isEmpty {
            hasHead = csbx_curl_status(handle) >= 200
        } else if let colon = line.firstIndex(of: ":"), headers.count < 200 {
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers.append(Attribute(line[..<colon].lowercased(), String(value)))
            if hasHead { trailerCount += 1 }
        }
        return count
    }

    private func takeBody(_ bytes: UnsafeMutablePointer<CChar>?, _ count: Int) -> Int {
        let taken = min(count, answerBytesMax - body.count)
        body.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: taken))
        // libcurl ends the transfer if less is taken.
        isTooLarge = taken < count
        return taken
    }
}
