import SignalboxCore
import Testing

@testable import SignalboxAdmin

/// Dead letters on the admin listener.
@Suite struct DeadAdminTests {
    @Test func `a list has pages, and counts what its filter selects`() async throws {
        let rig = AdminRig()
        try await rig.bury([1, 2, 3])
        try await rig.bury([4], sender: "fcm", reason: "expired")
        let first = await rig.get("/dead", "sender=apns&limit=2")
        #expect(first.status == 200 && first.json["count"] == 3 && first.json["next"] == 3)
        #expect(first.json["dead"]?[1]?["id"] == 2 && first.json["dead"]?[2] == nil)
        let rest = await rig.get("/dead", "sender=apns&limit=2&from=3")
        #expect(rest.json["dead"]?[0]?["id"] == 3 && rest.json["next"] == .null)
        let expired = await rig.get("/dead", "reason=expired")
        #expect(expired.json["dead"]?[0]?["sender"] == "fcm" && expired.json["count"] == 1)
        #expect(await rig.get("/dead/4").json["reason"] == "expired")
        // So the commands count before they purge all.
        let all: AdminInput = ["ids": [] as [UInt64], "all": true]
        #expect(await rig.get("/dead", all.query).json["count"] == 4)
        for path in ["/dead/9", "/dead/x"] { #expect(await rig.get(path).status == 404, "\(path)") }
    }

    /// A mistake must not empty the table.
    @Test(arguments: [
        ("{}", 400, "\"all\": true"), (#"{"all":false}"#, 400, "\"all\": true"),
        (#"{"sendr":"apns"}"#, 400, "did you mean"), (#"{"limit":5}"#, 400, "\"all\": true"),
        (#"{"sender":"apn"}"#, 404, #"there is no sender "apn" (did you mean "apns"?)"#),
        (#"{"route":"replie"}"#, 404, "did you mean"),
    ])
    func `a change that does not say what it means changes nothing`(
        body: String, status: Int, words: String
    ) async throws {
        let rig = AdminRig()
        try await rig.bury([1])
        for verb in ["/dead/purge", "/dead/replay"] {
            let answer = await rig.post(verb, body)
            #expect(answer.status == status, "\(body)")
            #expect(answer.json["detail"]?.string?.contains(words) == true, "\(answer.json.text)")
        }
        #expect(await rig.get("/dead").json["count"] == 1)
    }

    @Test func `letters are purged in parts, and replayed ones wait again`() async throws {
        let rig = AdminRig()
        try await rig.bury([1, 2, 3])
        let part = await rig.post("/dead/purge", #"{"all":true,"limit":2}"#)
        #expect(part.json["count"] == 2 && part.json["next"] != .null)
        // A sender that a reload took away can be named as long as there are letters of it.
        try await rig.bury([7], sender: "gone")
        #expect(await rig.post("/dead/replay", #"{"sender":"gone"}"#).json["count"] == 1)
        #expect(await rig.post("/dead/replay", #"{"sender":"gone"}"#).status == 404)
        #expect(await rig.post("/dead/replay", #"{"ids":[3]}"#).json["count"] == 1)
        #expect(rig.store.waitingCount == 2)
        #expect(await rig.get("/dead").json["count"] == 0)
    }
}
