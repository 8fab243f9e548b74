import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct PayloadFitTests {
    private static let alert: [(field: FitField, pointer: [String])] = [
        (.body, ["aps", "alert", "body"]), (.subtitle, ["aps", "alert", "subtitle"]),
        (.title, ["aps", "alert", "title"]),
    ]

    private static func payload(
        title: String = "", subtitle: String = "", body: String = "",
        _ more: [JSONValue.Member] = []
    ) -> JSONValue {
        .object(
            [
                .init(
                    "aps",
                    [
                        "alert": [
                            "title": .string(title), "subtitle": .string(subtitle),
                            "body": .string(body),
                        ]
                    ]), .init("id", .string("00017-ü-\"id\"")),
            ] + more)
    }

    private func alert(_ payload: JSONValue?, _ field: String) -> String {
        payload?["aps"]?["alert"]?[field]?.string ?? ""
    }

    @Test func `a payload that fits comes back as it is`() {
        let payload = Self.payload(title: "T", body: "B")
        let fit = PayloadFit(bytesMax: payload.text.utf8.count, places: Self.alert)
        let made = fit.fitted(payload)
        #expect(made?.payload == payload && made?.shortened == [])
    }

    @Test func `the body is cut first, as little as need be, where a character ends`() {
        let body = String(repeating: "안녕", count: 2_000)
        let fit = PayloadFit(bytesMax: 4_096, places: Self.alert)
        let made = fit.fitted(Self.payload(title: "제목", subtitle: "부제", body: body))
        #expect(made?.shortened.fields == ["body"])
        #expect(alert(made?.payload, "title") == "제목")
        #expect(alert(made?.payload, "subtitle") == "부제")
        let cut = alert(made?.payload, "body")
        #expect(cut.hasSuffix("…") && body.hasPrefix(cut.dropLast()))
        let bytes = made?.payload.text.utf8.count ?? 0
        #expect(bytes <= 4_096 && bytes > 4_096 - 3, "\(bytes)")
    }

    @Test func `a long title is cut, and a short body beside it stays`() {
        let fit = PayloadFit(bytesMax: 1_000, places: Self.alert)
        let title = String(repeating: "word ", count: 20_000)
        let made = fit.fitted(Self.payload(title: title, body: "Please call."))
        #expect(made?.shortened.fields == ["title"])
        #expect(alert(made?.payload, "body") == "Please call.")
        let cut = alert(made?.payload, "title")
        #expect(cut.hasSuffix("…") && !cut.hasSuffix(" …"))
    }

    @Test func `a family is kept whole or left out`() {
        let family = "👨‍👩‍👧‍👦"
        let payload = Self.payload(body: String(repeating: family, count: 50))
        for bytesMax in 150...250 {
            let fit = PayloadFit(bytesMax: bytesMax, places: Self.alert)
            let cut = alert(fit.fitted(payload)?.payload, "body")
            #expect(cut.dropLast().allSatisfy { String($0) == family }, "\(bytesMax): \(cut)")
        }
    }

    @Test func `a letter with marks without end is cut between them`() {
        let body = "a" + String(repeating: "\u{301}", count: 9_000)
        let fit = PayloadFit(bytesMax: 4_096, places: Self.alert)
        let cut = alert(fit.fitted(Self.payload(body: body))?.payload, "body")
        #expect(cut.unicodeScalars.last == "…" && body.utf8.starts(with: cut.utf8.dropLast(3)))
        #expect(cut.utf8.count > 3_900)
    }

    @Test func `places of the builder are cut, also in JSON inside of a text, and ids stay whole`()
    {
        let text = String(repeating: "message \"quoted\"\n", count: 300)
        let inner: JSONValue = [
            "message": .string(text), "push_alert": .string(text),
            "message_id": 9_007_199_254_740_993,
            "channel": .string(String(repeating: "c", count: 300)),
        ]
        let message: JSONValue = [
            "data": ["message": .string(text), "sendbird": .string(inner.text)]
        ]
        let fit = PayloadFit(
            bytesMax: 4_096, countsTexts: true, counted: [["data"]],
            places: [
                ["data", "message"], ["data", "sendbird", "message"],
                ["data", "sendbird", "push_alert"], ["data", "sendbird", "channel"],
            ].map { (.data, $0) }, whole: [["data", "sendbird", "channel"]])
        let data = fit.fitted(message)?.payload["data"]
        let kept = (try? JSONValue.parse(data?["sendbird"]?.string ?? "")) ?? .null
        #expect(kept["message_id"] == .integer(9_007_199_254_740_993))
        #expect(kept["channel"]?.string?.count == 300)
        let lengths = [data?["message"], kept["message"], kept["push_alert"]].map {
            $0?.string?.utf8.count ?? 0
        }
        #expect(lengths.allSatisfy { $0 > 900 }, "\(lengths)")
        let count = ["message", "sendbird"].reduce(0) {
            $0 + $1.utf8.count + (data?[$1]?.string?.utf8.count ?? 0)
        }
        #expect(count <= 4_096 && count > 4_000, "\(count)")
    }

    @Test func `members go in their order, no more than needed, also in JSON inside of a text`() {
        let photos = JSONValue.array(
            (0..<10).map { number in
                [
                    "url": .string("photo-\(number)"),
                    "thumbnail": .string(String(repeating: "t", count: 100)),
                ]
            })
        let inner: JSONValue = [
            "id": .string(String(repeating: "i", count: 300)), "photos": photos,
            "note": .string(String(repeating: "n", count: 400)),
        ]
        let payload = Self.payload(
            body: String(repeating: "b", count: 600), [.init("data", .string(inner.text))])
        func fitted(_ bytesMax: Int) -> (data: JSONValue, shortened: [String], body: Int)? {
            let made = PayloadFit(
                bytesMax: bytesMax, places: Self.alert,
                omit: [
                    ["data", "photos", "*", "thumbnail"], ["data", "photos", "*"],
                    ["data", "missing"], ["data", "note"],
                ]
            ).fitted(payload)
            guard let made, let data = try? JSONValue.parse(made.payload["data"]?.string ?? "")
            else { return nil }
            #expect(made.payload.text.utf8.count <= bytesMax)
            return (data, made.shortened.fields, alert(made.payload, "body").utf8.count)
        }
        // A text is cut to a readable beginning first.
        let whole = payload.text.utf8.count
        let cut = fitted(whole - 300)
        #expect(cut?.shortened == ["body"] && cut?.data.text == inner.text)
        // Then thumbnails go, the last ones first.
        let some = fitted(whole - 800)
        #expect(some?.shortened == ["body", "other"])
        #expect(some?.data["photos"]?[9]?["thumbnail"] == nil)
        #expect(some?.data["photos"]?[0]?["thumbnail"] != nil)
        #expect((some?.body ?? 0) >= 192)
        // Then photos, from the last one.
        let few = fitted(1_150)
        #expect(few?.data["photos"]?[0]?["url"]?.string == "photo-0")
        #expect(few?.data["photos"]?[9] == nil && few?.data["note"] != nil)
        // At last the note, too; and then the text itself.
        let least = fitted(600)
        #expect(least?.data["note"] == nil && least?.data["photos"]?.text == "[]")
        #expect(fitted(400) == nil)
    }

    @Test func `without any text it may still be too large`() {
        let fit = PayloadFit(bytesMax: 4_096, places: Self.alert)
        let large = JSONValue.Member("blob", .string(String(repeating: "x", count: 4_000)))
        #expect(fit.fitted(Self.payload(body: "Hi", [large]))?.payload["blob"] != nil)
        let more = JSONValue.Member("more", .string(String(repeating: "x", count: 100)))
        #expect(fit.fitted(Self.payload(body: "Hi", [large, more])) == nil)
    }

    @Test(arguments: (0..<20).map { _ in UInt64.random(in: 0 ... .max) })
    func `any text of any script fits, valid and with its ids whole`(seed: UInt64) throws {
        var random = AnyText(seed: seed)
        for _ in 0..<20 {
            let texts = (0..<4).map { _ in random.text(most: 20_000) }
            let more: JSONValue = ["message": .string(texts[3])]
            let payload = Self.payload(
                title: texts[0], subtitle: texts[1], body: texts[2],
                [.init("own", .string(more.text))])
            let bytesMax = 400 + Int(random.next() % 5_000)
            let fit = PayloadFit(
                bytesMax: bytesMax, places: Self.alert + [(.data, ["own", "message"])])
            let made = try #require(fit.fitted(payload), "seed \(seed)").payload
            let text = made.text
            #expect(text.utf8.count <= bytesMax, "seed \(seed)")
            #expect(!text.contains("\u{FFFD}"), "seed \(seed)")
            #expect(try JSONValue.parse(text) == made, "seed \(seed)")
            #expect(made["id"] == payload["id"], "seed \(seed)")
            for (field, whole) in zip(["title", "subtitle", "body"], texts) {
                let cut = alert(made, field)
                let isBeginning = whole.utf8.starts(with: cut.dropLast(cut == whole ? 0 : 1).utf8)
                #expect(cut.isEmpty || cut == whole || isBeginning, "seed \(seed)")
            }
            if bytesMax - text.utf8.count > 200 { #expect(made == payload, "seed \(seed)") }
        }
    }
}
