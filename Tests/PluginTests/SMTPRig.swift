import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Synchronization
import Testing

/// The SMTP plugin with a scripted server.
struct SMTPRig {
    /// Made once: generating keys takes time.
    static let authority = Result { try ThrowAway.certificateAuthority(name: "test") }
    /// 2026-03-01 12:34:56 UTC, a Sunday.
    static let now: UInt64 = 1_772_368_496_000

    let server: SMTPServer
    let services: RigServices
    let instance: PluginInstance
    let role: SendRole
    let inbox = Inbox()
    let folder: URL

    /// The received outcomes.
    final class Inbox: Sendable {
        private let outcomes = Mutex<[SignalboxCore.Outcome]>([])
        var all: [SignalboxCore.Outcome] { outcomes.withLock { $0 } }
        func add(_ more: [SignalboxCore.Outcome]) { outcomes.withLock { $0 += more } }
    }

    /// `config` is merged into one that reaches the server without TLS; null removes a key.
    init(
        _ options: SMTPServer.Options = .init(), config: [(String, JSONValue)] = [],
        password: String = "", services: RigServices = RigServices(nowUnixMs: Self.now)
    ) async throws {
        let server = try SMTPServer(options)
        self.server = server
        self.services = services
        folder = Workshop.place()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(Self.authority.get().certificatePEM).write(to: folder.appending(path: "ca.pem"))
        try Data(password.utf8).write(to: folder.appending(path: "password"))
        var all: [(String, JSONValue)] = [
            ("host", .string("127.0.0.1")), ("port", .integer(Int64(server.port))),
            ("security", .string("none")), ("from", .string("Signalbox <box@example.com>")),
            ("helo", .string("client.example")), ("connections_max", .integer(1)),
            ("timeout_ms", .integer(10_000)),
        ]
        for (key, value) in config {
            all.removeAll { $0.0 == key }
            if value != .null { all.append((key, value)) }
        }
        let json = JSONValue.object(all.map { .init($0.0, $0.1) }).text
        let filled = json.replacing("CA_FILE", with: folder.appending(path: "ca.pem").path)
        instance = try await PluginRig.bundledInstance(
            "SMTP", config: filled, files: folder.path, services: services)
        role = try #require(SendRole(instance))
    }

    static func identity(names: [String] = ["localhost"], addresses: [String] = ["127.0.0.1"])
        throws
        -> ThrowAway.Identity
    {
        try ThrowAway.serverIdentity(names: names, addresses: addresses, authority: authority.get())
    }

    static func delivery(
        _ id: UInt64 = 1, to address: String = "you@example.org", stableID: String? = nil,
        deadlineUnixMs: UInt64 = 0,
        _ change: (inout PushNotification) -> Void = {
            $0.title = "T"; $0.body = "B"
        }
    ) -> SignalboxCore.Delivery {
        Delivery(
            id: id, eventID: 1, route: "r", sender: "s",
            stableID: stableID ?? "00000000-0000-4000-8000-\(String(format: "%012d", id))",
            deadlineUnixMs: deadlineUnixMs, content: SendRig.note(change),
            device: Device(platform: "email", token: address))
    }

    /// Offers deliveries. Returns how many were accepted.
    @discardableResult
    func submit(_ deliveries: [SignalboxCore.Delivery]) throws -> Int {
        let inbox = inbox
        return try role.submit(app: "", deliveries: deliveries) { inbox.add($0) }.get()
    }

    /// Waits for `count` outcomes in total, sorted by delivery.
    func outcomes(_ count: Int) async -> [SignalboxCore.Outcome] {
        await services.waitFor { inbox.all.count >= count }
        return inbox.all.sorted { $0.item < $1.item }
    }

    /// Sends one mail. Returns its outcome.
    func send(_ delivery: SignalboxCore.Delivery = Self.delivery()) async throws
        -> SignalboxCore.Outcome
    {
        let before = inbox.all.count
        #expect(try submit([delivery]) == 1)
        return try #require(await outcomes(before + 1).first { $0.item == delivery.id })
    }

    /// Sends one mail, which must arrive.
    func mail(_ delivery: SignalboxCore.Delivery = Self.delivery()) async throws -> Message {
        let outcome = try await send(delivery)
        #expect(outcome.kind == .delivered && outcome.providerCode == 250, "\(outcome.reason)")
        return Message(try #require(server.mails.last))
    }

    /// Changes the password's file, and waits until the plugin knows.
    func change(_ text: String) async throws {
        try Data(text.utf8).write(to: folder.appending(path: "password"))
        await services.waitFor {
            services.lines.contains { $0.contains("the login has changed") }
        }
    }

    func end() async {
        #expect(await instance.stop(deadlineMs: 5_000))
        server.shutdown()
        #expect(services.faults == [])
        try? FileManager.default.removeItem(at: folder)
    }
}

/// A message as its reader sees it.
struct Message {
    let mail: SMTPServer.Mail
    var headers: [String: String] = [:]
    let body: String

    init(_ mail: SMTPServer.Mail) {
        self.init(mail, text: Self.unstuffed(mail.wire))
    }

    private init(_ mail: SMTPServer.Mail, text: String) {
        self.mail = mail
        let end = text.range(of: "\r\n\r\n")
        let unfolded = text[..<(end?.lowerBound ?? text.endIndex)]
            .replacing("\r\n ", with: " ")
        for line in unfolded.split(separator: "\r\n") {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            #expect(headers[parts[0].lowercased()] == nil, "\(parts[0]) is there twice")
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        body = String(text[(end?.upperBound ?? text.endIndex)...])
    }

    private static func unstuffed(_ wire: String) -> String {
        wire.components(separatedBy: "\r\n").map { $0.hasPrefix(".") ? String($0.dropFirst()) : $0 }
            .joined(separator: "\r\n")
    }

    /// A header with its encoded words decoded, and the space between them removed.
    func words(_ name: String) -> String {
        var out: [UInt8] = []
        var isWord = false
        for part in (headers[name] ?? "").split(separator: " ", omittingEmptySubsequences: false) {
            if part.hasPrefix("=?UTF-8?B?"), part.hasSuffix("?=") {
                #expect(part.count <= 75)
                let bytes = Base64.decode(part.dropFirst(10).dropLast(2)) ?? []
                #expect(
                    String(validating: bytes, as: UTF8.self) != nil, "a word ends in a character")
                if !isWord, !out.isEmpty { out.append(32) }
                out += bytes
                isWord = true
            } else {
                if !out.isEmpty { out.append(32) }
                out += Array(part.utf8)
                isWord = false
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The body with its transfer encoding decoded.
    var text: String {
        switch headers["content-transfer-encoding"] {
        case "7bit": return body
        case "base64":
            return String(
                decoding: Base64.decode(body.replacing("\r\n", with: "")) ?? [], as: UTF8.self)
        case "quoted-printable":
            var out: [UInt8] = []
            let bytes = Array(body.replacing("=\r\n", with: "").utf8)
            var index = 0
            while index < bytes.count {
                if bytes[index] == UInt8(ascii: "="), index + 2 < bytes.count,
                    let byte = UInt8(
                        String(decoding: bytes[index + 1...index + 2], as: UTF8.self), radix: 16)
                {
                    out.append(byte)
                    index += 3
                } else {
                    out.append(bytes[index])
                    index += 1
                }
            }
            return String(decoding: out, as: UTF8.self)
        default: return "unknown encoding"
        }
    }

    /// Parts of a multipart message.
    var parts: [Message] {
        let type = headers["content-type"] ?? ""
        guard let mark = type.range(of: "boundary=\"") else { return [] }
        let boundary = "--" + type[mark.upperBound...].prefix { $0 != "\"" }
        var pieces = ("\r\n" + body).components(separatedBy: "\r\n" + boundary)
        #expect(pieces.removeLast() == "--\r\n")
        // CRLF is one character.
        return pieces.dropFirst().map { Message(mail, text: String($0.dropFirst())) }
    }
}
