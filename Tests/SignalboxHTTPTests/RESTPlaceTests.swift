import SignalboxCore
import SignalboxHTTP
import Testing

/// Calls that hang, and those that must not wait for them.
@Suite struct RESTPlaceTests {
    private func submit(
        _ client: RESTClient, _ url: String, owner: String
    ) -> (ended: Task<UInt32?, Never>, refusal: RESTFault?) {
        var call = RESTCall(method: "GET", url: url)
        call.owner = owner
        call.timeoutMs = 120_000
        let (ends, continuation) = AsyncStream.makeStream(of: UInt32?.self)
        var refusal: RESTFault?
        do throws(RESTFault) {
            try client.submit(call) { result in
                continuation.yield((try? result.get())?.status)
                continuation.finish()
            }
        } catch {
            refusal = error
            continuation.finish()
        }
        return (
            Task {
                for await status in ends { return status }
                return nil
            }, refusal
        )
    }

    @Test func `calls that hang stop no other owner, and none of their own to other hosts`()
        async throws
    {
        let rig = try await WebRig()
        let client = try RESTClient(callsMax: 8, hostCallsMax: 4)
        let here = "http://127.0.0.1:\(rig.server.port)/known"
        let there = "http://localhost:\(rig.server.port)/known"
        var hanging: [Task<UInt32?, Never>] = []
        for _ in 0..<4 {
            let made = submit(client, here + "/wait", owner: "a")
            #expect(made.refusal == nil)
            hanging.append(made.ended)
        }
        let fifth = submit(client, here, owner: "a").refusal
        #expect(fifth?.kind == .full && fifth?.message.contains("to this host") == true)
        // Another host of the same owner, and another owner at the same host.
        #expect(await submit(client, there, owner: "a").ended.value == 200)
        let other = submit(client, here, owner: "b")
        #expect(other.refusal == nil)
        #expect(await other.ended.value == 200)
        // Several hosts use up the owner's places, and nobody else's.
        for _ in 0..<4 { hanging.append(submit(client, there + "/wait", owner: "a").ended) }
        for _ in 0..<100 { #expect(submit(client, here, owner: "a").refusal?.kind == .full) }
        #expect(await submit(client, here, owner: "b").ended.value == 200)
        // Places come back.
        rig.release.finish()
        for one in hanging { _ = await one.value }
        #expect(await submit(client, here, owner: "a").ended.value == 200)
        await client.close()
        await rig.end()
    }
}
