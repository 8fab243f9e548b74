import CSignalbox
import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxThreads
import Synchronization
import Testing

@testable import SignalboxPluginHost

/// Hostile processes: the gateway must survive and limit its memory.
@Suite struct IsolatedHostilityTests {
    /// Starts an instance whose process runs a shell script instead of a plugin; its socket is 3.
    func fault(
        _ script: String, services: RigServices = RigServices(), runner: [String]? = nil
    ) async -> PluginFault? {
        var options = IsolationOptions()
        options.runner = runner ?? ["/bin/sh", "-c", script]
        options.controlMs = 1_000
        let library = PluginDescriptor(
            path: "/x.so", id: "x", version: "1", summary: "", abi: "1.0", roles: [], needs: [])
        return await #expect(throws: PluginFault.self) {
            try await IsolatedInstance.create(
                name: "test", library: library, config: CheckedConfig(json: .object([])),
                version: "test", options: options, services: services)
        }
    }

    @Test(arguments: [
        ("exit 3", "in create() its process ended itself (exit 3)"),
        ("kill -9 $$", "in create() its process was ended by SIGKILL (Killed)"),
        ("exec sleep 1000", "its process was ended by the gateway: create() takes over 1000 ms"),
        ("exec 3>&-; exec sleep 1000", "in create() its process was ended by SIGKILL (Killed)"),
    ])
    func `a program that does not answer`(script: String, words: String) async {
        let fault = await fault(script)
        #expect(fault?.kind == .lost)
        #expect(fault?.message == words)
    }

    @Test func `a program that is not there`() async {
        let fault = await fault("", runner: ["/no/such/program"])
        #expect(fault?.kind == .unreachable)
        #expect(fault?.message.contains("/no/such/program: No such file") == true)
    }

    @Test(arguments: [
        // Noise; a length of four billion; an unknown kind; an unknown method.
        // (Random bytes would be the head of a frame now and then.)
        "exec yes >&3",
        #"printf '\377\377\377\377\001\000\002\000\001\000\000\000\000\000\000\000' >&3; exec sleep 1000"#,
        #"printf '\000\000\000\000\001\000\011\000\001\000\000\000\000\000\000\000' >&3; exec sleep 1000"#,
        #"printf '\000\000\000\000\143\000\001\000\001\000\000\000\000\000\000\000' >&3; exec sleep 1000"#,
        // A malformed reply to create(), once that was called; a notice that a gateway rejects;
        // a malformed metric.
        #"head -c 1 <&3 >/dev/null; printf '\001\000\000\000\001\000\002\000\001\000\000\000\000\000\000\000\007' >&3; exec sleep 1000"#,
        #"printf '\000\000\000\000\001\000\004\000\001\000\000\000\000\000\000\000' >&3; exec sleep 1000"#,
        #"printf '\015\000\000\000\101\000\004\000\000\000\000\000\000\000\000\000\011\000\000\000\000\001\000\000\000\000\000\000\000' >&3; exec sleep 1000"#,
    ])
    func `a program that talks nonsense is ended and named`(script: String) async {
        let services = RigServices()
        let fault = await fault(script, services: services)
        #expect(fault?.kind == .lost)
        #expect(services.faults.count == 1, "\(services.faults)")
        #expect(services.faults.first?.contains("malformed") == true)
    }

    @Test func `one that never reads does not hold anybody up`() async throws {
        // Requests values without end, and reads no answer.
        let services = RigServices()
        let fault = await fault(
            #"while printf '\005\000\000\000\043\000\001\000\001\000\000\000\000\000\000\000\001\000\000\000k' >&3; do :; done; exec sleep 1000"#,
            services: services)
        #expect(fault?.kind == .lost)
    }

    @Test func `garbage in the middle of work is the end of the process, not of the gateway`()
        async throws
    {
        let rig = try await IsolatedCrashTests.Crashing()
        let lost = Once<IngestResult>()
        let ingest = try #require(rig.roles.ingest)
        ingest.handle(IsolatedRoleTests.request("garbage")) { lost.set($0) }
        // The answer either came before the effects of the garbage, or was lost.
        _ = await lost.value()
        await rig.services.waitFor { rig.restarts == 1 && rig.services.counts["up"] == 1 }
        #expect(rig.services.faults.count == 1)
        #expect(rig.services.faults.first?.contains("malformed") == true)
        let fine = try await rig.deliverAll(IsolatedRoleTests.deliveries(["a", "b"]))
        #expect(fine.count == 2)
        await rig.end()
    }

    @Test func `one that logs without end is served, and the log is not full of it`() async throws {
        let rig = try await IsolatedCrashTests.Crashing()
        let done = Once<IngestResult>()
        let ingest = try #require(rig.roles.ingest)
        ingest.handle(IsolatedRoleTests.request("flood")) { done.set($0) }
        #expect(await done.value()?.answer?.status == 202)
        // And the line that says so.
        await rig.services.waitFor { rig.services.lines.count > LogQuota.linesMax }
        #expect(rig.services.lines.count == LogQuota.linesMax + 1)
        #expect(rig.restarts == 0)
        await rig.end()
    }
}

/// The socket itself, with both ends in this process.
@Suite struct WirePeerTests {
    /// Two peers; each runs on its own thread until its channel is closed.
    static func pair(
        _ serve: @escaping @Sendable (WirePeer, WireMethod, WireFrame) throws(WireFault) -> Void
    ) -> (near: WirePeer, far: WirePeer) {
        var ends: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        let near = WirePeer(WireChannel(socket: ends[0]))
        let far = WirePeer(WireChannel(socket: ends[1]))
        SystemThread.start("sbx-test") { try? near.run { _, _ throws(WireFault) in } }
        SystemThread.start("sbx-test") {
            try? far.run { method, frame throws(WireFault) in try serve(far, method, frame) }
        }
        return (near, far)
    }

    /// Returns what it gets; odd calls are answered from another thread.
    static func echo() -> (near: WirePeer, far: WirePeer) {
        let workers = WorkerThreads(count: 3, waitingMax: .max)
        return pair { peer, _, frame throws(WireFault) in
            let bytes = try [UInt8](reading: frame)
            if frame.call % 2 == 0 {
                peer.reply(to: frame) { $0.put(bytes) }
            } else {
                workers.submitBounded { peer.reply(to: frame) { $0.put(bytes) } }
            }
        }
    }

    @Test func `calls of every size from many threads each get their own reply`() async throws {
        let (near, far) = Self.echo()
        await withTaskGroup { group in
            for thread in 0..<6 {
                group.addTask {
                    var chance = Chance(state: UInt64(thread))
                    for round in 0..<60 {
                        // Some are larger than any buffer in between.
                        let size = round % 20 == 0 ? 3_000_000 : Int(chance.below(100_000))
                        let bytes = [UInt8](
                            repeating: UInt8(truncatingIfNeeded: round), count: size)
                        let sent = bytes
                        let reply = await SystemThread.value {
                            near.call(.prepare, { writer in writer.put(sent) })
                        }
                        let back = try? [UInt8](reading: reply.get())
                        #expect(back == bytes)
                    }
                }
            }
        }
        near.channel.close()
        #expect(near.lostCount == 0)
        _ = far
    }

    @Test func `whoever waits learns that the other end is gone`() async {
        let (near, far) = Self.pair { _, _, _ in }
        let answered = Once<Bool>()
        async let lost = SystemThread.value {
            near.call(.prepare, onAnswer: { answered.set($0 == nil) })
        }
        // Nobody replies; then the other end closes.
        while near.openCount == 0 { await Task.yield() }
        far.channel.close()
        guard case .failure(.gone) = await lost else {
            Issue.record("the call was not lost")
            return
        }
        guard case .failure(.closed) = near.call(.prepare) else {
            Issue.record("it was asked after its end")
            return
        }
        #expect(near.lostCount == 1)
    }

    @Test func `an answer comes after its reply, or not at all`() async throws {
        let (near, _) = Self.pair { peer, _, frame throws(WireFault) in
            peer.reply(to: frame) { $0.put(UInt64(1)) }
            peer.answer(frame) { $0.put(UInt64(2)) }
        }
        let answered = Once<UInt64?>()
        let reply = near.call(
            .value, onAnswer: { answered.set($0.flatMap { try? UInt64(reading: $0) }) })
        #expect(try UInt64(reading: reply.get()) == 1)
        #expect(await answered.value() == 2)
        near.channel.close()
    }

    @Test func `a call has its time`() throws {
        let (near, _) = Self.pair { _, _, _ in }
        guard
            case .failure(.late) = near.call(
                .prepare, deadlineNs: SystemClock.monotonicNs + 1_000_000)
        else {
            Issue.record("it was not late")
            return
        }
        guard
            case .failure(.tooLong) = near.call(
                .prepare,
                { writer in
                    writer.put([UInt8](repeating: 0, count: Wire.bytesMax + 1))
                })
        else {
            Issue.record("it was sent")
            return
        }
        near.channel.close()
    }

    @Test func `a peer that does not read is given up at a bound`() {
        var ends: [Int32] = [0, 0]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        let channel = WireChannel(socket: ends[0])
        defer { close(ends[1]) }
        let message = WireWriter()
        message.put([UInt8](repeating: 7, count: 4 << 20))
        message.finish(method: 1, kind: 4, call: 0)
        var count = 0
        while channel.send(message), count < 1_000 { count += 1 }
        // 64 MiB and the system's buffers.
        #expect((15...17).contains(count))
    }
}
