import SignalboxCore
import SignalboxGateway
import Testing

/// Orders of operators on the admin listener.
@Suite struct PauseAdminTests {
    @Test func `a pause says who asked and why, and ends when it is resumed`() async throws {
        let rig = AdminRig()
        let body = #"{"sender":"apns","by":"ann\n","reason":"key rotated"}"#
        let first = await rig.post("/pause", body)
        #expect(first.json["changed"] == true && first.json["was_paused"] == false)
        let entry = await rig.get("/paused").json["paused"]?[0]
        #expect(entry?["sender"] == "apns" && entry?["by"] == "ann")
        #expect(entry?["reason"] == "key rotated")
        #expect(await rig.post("/pause", body).json["was_paused"] == true)
        #expect(await rig.post("/resume", #"{"sender":"apns"}"#).json["changed"] == true)
        #expect(await rig.post("/resume", #"{"sender":"apns"}"#).json["changed"] == false)
        #expect(await rig.get("/paused").json["paused"] == [])
    }

    @Test(arguments: [
        (#"{"sender":"apn"}"#, 404, #"there is no sender "apn" (did you mean "apns"?)"#),
        (#"{"route":"x"}"#, 404, "there is no route"), ("{}", 400, "either sender or route"),
        (#"{"sender":"apns","route":"replies"}"#, 400, "either"),
    ])
    func `a name that nobody has is refused`(body: String, status: Int, words: String) async throws
    {
        let rig = AdminRig()
        for verb in ["/pause", "/resume"] {
            let answer = await rig.post(verb, body)
            #expect(answer.status == status)
            #expect(answer.json["detail"]?.string?.contains(words) == true, "\(answer.json.text)")
        }
        #expect(await rig.get("/paused").json["paused"] == [])
    }

    @Test func `an order to cancel names what it is about`() async throws {
        let rig = AdminRig()
        for (body, status) in [
            ("{}", 400), (#"{"gone":true}"#, 400), (#"{"sender":"old"}"#, 404),
            (#"{"sender":"old","gone":true}"#, 200), (#"{"older_than_ms":1000,"by":"bo"}"#, 200),
            (#"{"all":true}"#, 200),
        ] { #expect(await rig.post("/waiting/cancel", body).status == status, "\(body)") }
        let orders = await rig.get("/waiting/cancelled").json
        // Orders of the same millisecond come in any order.
        let senders = orders.items("orders").map { $0["sender"]?.string ?? "any" }
        #expect(senders.sorted() == ["any", "any", "old"])
    }

    @Test func `who is forgotten goes out of orders to cancel, and plugins are told`() async throws
    {
        let rig = AdminRig()
        for user in ["ann", "joann"] {
            let device = Device(app: "a", platform: "ios", token: "t-\(user)", user: user)
            _ = try await rig.store.register(device, isUnique: true)
            #expect(await rig.post("/waiting/cancel", #"{"user":"\#(user)"}"#).status == 200)
        }
        let removed = await rig.post("/forget", #"{"user":"ann"}"#).json["removed"]
        #expect(removed?["devices"] == 1)
        let orders = await rig.get("/waiting/cancelled").json.items("orders")
        #expect(orders.compactMap { $0["user"]?.string } == ["joann"])
        let reports = try await withCheckedThrowingContinuation { continuation in
            rig.store.outbox(max: 9) { continuation.resume(with: $0) }
        }
        #expect(reports.map(\.report.change.device.token) == ["t-ann"])
        #expect(reports.map(\.report.change.kind) == [.unregistered])
    }
}
