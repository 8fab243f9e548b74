/// Which proxy a connection goes through: the one place that decides, for pushes and REST calls alike.
///
/// A value without sockets. Connections to this machine itself never use a proxy: their data must not leave it.
public struct ProxyRules: Sendable, Hashable {
    /// No proxy for anything.
    public static let direct = ProxyRules()

    private var secure: ProxyAddress?
    private var plain: ProxyAddress?
    /// Hosts that are reached directly, as in `no_proxy`.
    private var exceptions: [String] = []
    /// The variable that the proxy is from; empty: gateway.yaml.
    private var origin = ""
    /// What is wrong with the variables, each with the variable's name.
    public private(set) var faults: [String] = []

    private init() {}

    /// One proxy for everything.
    public init(only proxy: ProxyAddress) { (secure, plain) = (proxy, proxy) }

    /// The usual variables: `https_proxy`, `http_proxy`, `all_proxy` and `no_proxy`, in lower or upper case.
    ///
    /// `HTTP_PROXY` in upper case is not read, for a CGI program has a request's header in it.
    public init(variables: [String: String]) {
        secure = read(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"], variables)
        plain = read(["http_proxy", "all_proxy", "ALL_PROXY"], variables)
        let none = variables["no_proxy"] ?? variables["NO_PROXY"] ?? ""
        exceptions = none.split { $0 == "," || $0 == " " }.map { $0.lowercased() }
    }

    private mutating func read(_ names: [String], _ variables: [String: String]) -> ProxyAddress? {
        guard let name = names.first(where: { variables[$0]?.isEmpty == false }) else { return nil }
        do throws(ProxyAddress.Fault) {
            let proxy = try ProxyAddress(variables[name] ?? "")
            if origin.isEmpty { origin = name }
            return proxy
        } catch {
            let fault = "the variable \(name) is no usable proxy: \(error)"
            if !faults.contains(fault) { faults.append(fault) }
            return nil
        }
    }

    /// The proxy for a connection to a host, a name or an IP address without brackets; nil to connect directly.
    public func proxy(host: String, port: Int, isSecure: Bool) -> ProxyAddress? {
        guard let proxy = isSecure ? secure : plain, !IPAddress.isLoopback(host) else { return nil }
        let name = host.lowercased()
        return exceptions.contains { Self.covers($0, name, port) } ? nil : proxy
    }

    /// Whether an entry of `no_proxy` covers a host: `*`, a name with all names below it, an address, or a network such as
    /// 10.0.0.0/8; names and addresses may have a port.
    private static func covers(_ entry: String, _ host: String, _ port: Int) -> Bool {
        if entry == "*" { return true }
        let own = IPAddress.bytes(of: host)
        if let slash = entry.firstIndex(of: "/") {
            let size = Int(entry[entry.index(after: slash)...])
            guard let network = IPAddress.bytes(of: String(entry[..<slash])), let size, let own,
                size >= 0, size <= network.count * 8, own.count == network.count
            else { return false }
            return (0..<size).allSatisfy { bit in
                let mask = UInt8(0x80) >> UInt8(bit % 8)
                return own[bit / 8] & mask == network[bit / 8] & mask
            }
        }
        var name = entry[...]
        if IPAddress.bytes(of: entry) == nil, let colon = entry.lastIndex(of: ":"),
            let given = Int(entry[entry.index(after: colon)...])
        {
            guard given == port else { return false }
            name = entry[..<colon]
        }
        if name.hasPrefix("["), name.hasSuffix("]") { name = name.dropFirst().dropLast() }
        if let own { return IPAddress.bytes(of: String(name)) == own }
        if name.hasPrefix("*") { name = name.dropFirst() }
        if name.hasPrefix(".") { name = name.dropFirst() }
        return !name.isEmpty && (host == name || host.hasSuffix(".\(name)"))
    }
}

extension ProxyRules: CustomStringConvertible {
    /// For people, without a password; empty if there is no proxy.
    public var description: String {
        guard let proxy = secure ?? plain else { return "" }
        let also = plain.map { $0 == proxy ? "" : ", for http://: \($0)" } ?? ""
        let from = origin.isEmpty ? "" : " (\(origin))"
        return "\(proxy)\(from)\(also)"
            + (exceptions.isEmpty ? "" : ", not for \(exceptions.joined(separator: ", "))")
    }
}
