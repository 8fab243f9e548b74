import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// What the SMTP plugin accepts, and what happens to it on shutdown.
@Suite(.timeLimit(.minutes(15))) struct SMTPQueueTests {
    static func stalling(at place: String) -> SMTPServer.Options {
        var options = SMTPServer.Options()
        options.script = { $0.line.hasPrefix(place) ? .stall : .usual }
        return options
    }

    @Test func `a full queue takes a part, and says when there is room`() async throws {
        let rig = try await SMTPRig(Self.stalling(at: "MAIL"))
        let room = Once<Bool>()
        rig.role.whenRoom { room.set(true) }
        let all = (1...60).map { SMTPRig.delivery($0) }
        // 16 wait, and one is in flight as soon as the worker has fetched it.
        var taken = 0
        while taken < 17 {
            taken += try rig.submit(Array(all[taken...]))
            await Task.yield()
        }
        #expect(try rig.submit(Array(all[taken...])) == 0)
        rig.server.release()
        #expect(await room.value() == true)
        while taken < 60 {
            taken += try rig.submit(Array(all[taken...]))
            await Task.yield()
        }
        let outcomes = await rig.outcomes(60)
        #expect(outcomes.map(\.item) == Array(1...60))
        #expect(outcomes.allSatisfy { $0.kind == .delivered })
        #expect(rig.server.mails.count == 60)
        await rig.end()
    }

    @Test func `as many connections as are allowed, and no more`() async throws {
        let rig = try await SMTPRig(
            Self.stalling(at: "MAIL"), config: [("connections_max", .integer(3))])
        #expect(try rig.submit((1...20).map { SMTPRig.delivery($0) }) == 20)
        await rig.services.waitFor { rig.server.lines.count { $0.hasPrefix("MAIL") } == 3 }
        #expect(rig.server.connections == 3 && rig.inbox.all.isEmpty)
        rig.server.release()
        #expect(await rig.outcomes(20).allSatisfy { $0.kind == .delivered })
        #expect(rig.server.connections == 3)
        await rig.end()
    }

    @Test func `a server that takes one connection only gets all mails over that`() async throws {
        let rig = try await SMTPRig(
            .init {
                if $0.connection > 1, $0.line.isEmpty {
                    return .sayAndHangUp("421 4.7.0 one is enough")
                }
                return $0.line == "." ? .stall : .usual
            }, config: [("connections_max", .integer(3))])
        try rig.submit([SMTPRig.delivery(1)])
        await rig.services.waitFor { rig.server.lines.last == "." }
        #expect(try rig.submit((2...20).map { SMTPRig.delivery($0) }) == 19)
        // The other workers find work, fail, and leave it to the open connection.
        await rig.services.waitFor { rig.server.connections > 1 }
        rig.server.release()
        let outcomes = await rig.outcomes(20)
        #expect(outcomes.map(\.item) == Array(1...20))
        #expect(outcomes.allSatisfy { $0.kind == .delivered }, "\(outcomes.map(\.reason))")
        #expect(Set(rig.server.mails.map(\.connection)) == [1])
        await rig.end()
    }

    @Test func `a stop ends what does not end by itself, and gives everything back`() async throws {
        let rig = try await SMTPRig(Self.stalling(at: "."))
        #expect(try rig.submit((1...10).map { SMTPRig.delivery($0) }) == 10)
        await rig.services.waitFor { rig.server.lines.last == "." }
        #expect(rig.inbox.all.isEmpty)
        #expect(await rig.instance.stop(deadlineMs: 4_000))
        let outcomes = rig.inbox.all.sorted { $0.item < $1.item }
        #expect(outcomes.map(\.item) == Array(1...10))
        #expect(outcomes.allSatisfy { $0.kind == .retry && $0.reason == "stopping" })
        rig.server.release()
        rig.server.shutdown()
        #expect(rig.services.faults == [])
    }

    @Test func `a stop sends what is queued for an open connection`() async throws {
        let rig = try await SMTPRig()
        _ = try await rig.mail()
        #expect(try rig.submit((2...17).map { SMTPRig.delivery($0) }) == 16)
        #expect(await rig.instance.stop(deadlineMs: 10_000))
        #expect(rig.inbox.all.count == 17)
        #expect(rig.inbox.all.allSatisfy { $0.kind == .delivered })
        #expect(rig.server.connections == 1)
        await rig.services.waitFor { rig.server.lines.last == "QUIT" }
        rig.server.shutdown()
        #expect(rig.services.faults == [])
    }

    @Test(arguments: ["", "EHLO", "RCPT"])
    func `a stop comes through wherever a connection hangs`(place: String) async throws {
        let rig = try await SMTPRig(
            .init {
                place == $0.line || (!place.isEmpty && $0.line.hasPrefix(place)) ? .stall : .usual
            }, config: [("connections_max", .integer(2))])
        #expect(try rig.submit((1...5).map { SMTPRig.delivery($0) }) == 5)
        await rig.services.waitFor { rig.server.connections == 2 }
        #expect(await rig.instance.stop(deadlineMs: 4_000))
        #expect(rig.inbox.all.map(\.item).sorted() == Array(1...5))
        #expect(rig.inbox.all.allSatisfy { $0.kind == .retry })
        rig.server.shutdown()
        #expect(rig.services.faults == [])
    }

    @Test func `what is worthless by now is not sent`() async throws {
        let rig = try await SMTPRig()
        let outcome = try await rig.send(
            SMTPRig.delivery(deadlineUnixMs: SMTPRig.now - 1))
        #expect(outcome.kind == .retry && outcome.reason == "expired")
        _ = try await rig.mail(SMTPRig.delivery(2, deadlineUnixMs: SMTPRig.now + 60_000))
        #expect(rig.server.mails.count == 1)
        await rig.end()
    }

    @Test func `neighbours share a content, and each has its own recipient`() async throws {
        let rig = try await SMTPRig(config: [("connections_max", .integer(2))])
        let (one, two) = (SendRig.note { $0.title = "one" }, SendRig.note { $0.title = "two" })
        let all = (1...20).map { id in
            var delivery = SMTPRig.delivery(UInt64(id), to: "u\(id)@example.org")
            delivery.content = id % 7 < 4 ? one : two
            return delivery
        }
        #expect(try rig.submit(all) == 20)
        _ = await rig.outcomes(20)
        let found = rig.server.mails.map { Message($0) }.map {
            "\($0.headers["to"] ?? "") \($0.headers["subject"] ?? "")"
        }
        #expect(
            Set(found) == Set((1...20).map { "u\($0)@example.org \($0 % 7 < 4 ? "one" : "two")" }))
        await rig.end()
    }
}
