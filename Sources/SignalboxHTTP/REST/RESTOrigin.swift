internal import CCurl

/// Where a call goes, as libcurl reads its URL: `127.1` is 127.0.0.1 there, and so it must be where it is judged.
struct RESTOrigin: Hashable {
    /// A name, or an IP address without brackets.
    var host: String
    var port: Int
    var isSecure: Bool

    /// nil: libcurl refuses the URL.
    init?(_ url: String) {
        guard let parts = curl_url() else { return nil }
        defer { curl_url_cleanup(parts) }
        func part(_ which: CURLUPart, _ flags: Int32 = 0) -> String? {
            var text: UnsafeMutablePointer<CChar>?
            guard curl_url_get(parts, which, &text, UInt32(flags)) == CURLUE_OK, let text else {
                return nil
            }
            defer { curl_free(text) }
            return String(cString: text)
        }
        guard curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK,
            let host = part(CURLUPART_HOST),
            let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ Int($0) })
        else { return nil }
        self.host = (host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host).lowercased()
        self.port = port
        isSecure = part(CURLUPART_SCHEME) == "https"
    }

    /// Whether it is an address that only nearby machines can reach. What a name stands for is not looked up.
    var isPrivate: Bool {
        guard let bytes = IPAddress.bytes(of: host) else { return IPAddress.isLoopback(host) }
        return bytes.count == 4 ? csbx_is_private_v4(bytes) != 0 : csbx_is_private_v6(bytes) != 0
    }
}
