import Foundation

/// The sink: an APNs server on a core of its own.
final class Sink {
    private let child: Child
    let port: Int

    init(_ bench: Bench) throws {
        child = try Child(
            [bench.wire, "sink", bench.folder + "/server.pem", bench.folder + "/server.key"],
            core: bench.sinkCore)
        port = Int(try child.line().dropFirst("port ".count)) ?? 0
    }

    /// Resets the sink; it expects device numbers below `numbers`.
    func begin(numbers: Int) throws { _ = try child.ask("begin \(numbers)") }

    func report() throws -> [String: Double] { try Figures.parse(try child.ask("report")) }

    /// Waits until this many requests have arrived, or none has arrived for ten seconds.
    func wait(for count: Int) throws -> [String: Double] {
        var last = (requests: -1.0, at: Date())
        while true {
            let report = try report()
            let requests = report["requests"] ?? 0
            if requests >= Double(count) { return report }
            if requests > last.requests {
                last = (requests, Date())
            } else if Date().timeIntervalSince(last.at) > 10 {
                return report
            }
            usleep(20_000)
        }
    }

    func stop() { child.stop(SIGKILL) }
}

extension Bench {
    /// Sends webhooks, or the body in a file, to a gateway. Returns the load generator's report.
    func load(
        _ gateway: GatewayProcess, path: String = "/in/zendesk", connections: Int = 256, count: Int,
        perSecond: Int = 0, body: String = "2", headers: [String] = []
    ) throws -> [String: Double] {
        let child = try Child(
            [
                wire, "load", "\(gateway.port)", path, "\(min(connections, count))", "\(count)",
                "\(perSecond)", body,
            ] + headers)
        let line = try child.line()
        return try Figures.parse(line)
    }

    /// Runs h2load against the sink.
    ///
    /// Returns the wire's limit with one core, in requests per second.
    func limit(_ sink: Sink, seconds: Double = 2) throws -> Double {
        let urls = folder + "/urls-\(sink.port)"
        if !FileManager.default.fileExists(atPath: urls) {
            var text = ""
            for number in 0..<100_000 {
                text += "https://127.0.0.1:\(sink.port)/3/device/\(Token.text(number))\n"
            }
            try text.write(toFile: urls, atomically: true, encoding: .utf8)
        }
        let body = folder + "/body.json"
        try """
        {"aps":{"alert":{"title":"Ada replied","body":"Your parcel is on its way and will be with you \
        tomorrow."},"thread-id":"ticket-5"}}
        """.write(toFile: body, atomically: true, encoding: .utf8)
        func run(_ count: Int) throws -> Double {
            try sink.begin(numbers: 100_000)
            let headers = [
                "authorization: bearer ey" + String(repeating: "a", count: 180),
                "apns-topic: com.example.app", "apns-push-type: alert", "apns-priority: 10",
                "apns-id: 0e7f8e1c-6f1f-4e0e-9d55-0123456789ab", "apns-expiration: 1760000000",
            ]
            _ = try Child(
                [
                    "h2load", "-n", "\(count)", "-c", "1", "-m", "500", "-i", urls, "-d", body,
                ] + headers.flatMap { ["-H", $0] }, core: workCore, isQuiet: true
            ).rest()
            let report = try sink.report()
            guard report["requests"] == Double(count), report["wrong"] == 0 else {
                throw Failure("h2load's requests did not all arrive, or are wrong: \(report)")
            }
            return report["per_second"] ?? 0
        }
        let rate = try rates.last ?? run(100_000)
        let found = try run(Int(rate * seconds))
        rates.append(found)
        return found
    }
}

/// Device tokens that contain their number.
enum Token {
    static func text(_ number: Int) -> String {
        var mixer = UInt64(number) &+ 0x9e37_79b9_7f4a_7c15
        mixer = (mixer ^ (mixer >> 30)) &* 0xbf58_476d_1ce4_e5b9
        return [UInt64(0), mixer, ~mixer, UInt64(number)].map {
            let digits = String($0, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
