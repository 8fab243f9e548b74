import SignalboxCore
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

/// Every message between a gateway and a plugin's process, with random values.
///
/// Every failure reports the seed.
@Suite struct WireTests {
    static let seeds: [UInt64] = (0..<8).map { _ in UInt64.random(in: 0 ... .max) }

    /// Encodes and decodes one kind of message.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// A random message: its bytes, and the result of a round trip.
        ///
        /// With `inWords` also as text, which is slow.
        let roundTrip:
            @Sendable (inout Chance, _ inWords: Bool) throws -> (
                bytes: [UInt8], again: [UInt8], words: (String, String)
            )
        /// Decodes arbitrary bytes; throws a fault if they are no such message.
        let read: @Sendable ([UInt8]) throws(WireFault) -> Void
    }

    static func wire<Value: WireValue>(
        _ type: Value.Type, _ make: @escaping @Sendable (inout Chance) -> Value
    ) -> Case {
        Case(
            testDescription: "\(type)",
            roundTrip: { chance, inWords in
                let value = make(&chance)
                let bytes = encoded(value)
                let back = try decoded(bytes, as: Value.self)
                return (
                    bytes, encoded(back), inWords ? (text(value), text(back)) : ("", "")
                )
            },
            read: { bytes throws(WireFault) in
                // What can be decoded can be encoded.
                _ = encoded(try decoded(bytes, as: Value.self))
            })
    }

    static func text(_ value: some Any) -> String {
        var out = ""
        dump(value, to: &out)
        return out
    }

    static func encoded(_ value: some WireValue) -> [UInt8] {
        let writer = WireWriter()
        writer.put(value)
        return Array(writer.bytes.dropFirst(Wire.headBytes))
    }

    static func decoded<Value: WireValue>(
        _ bytes: [UInt8], as type: Value.Type
    ) throws(WireFault) -> Value {
        let frame = WireFrame(method: 0, kind: 0, call: 0, count: bytes.count)
        bytes.withUnsafeBytes { source in
            if let start = source.baseAddress {
                frame.start.copyMemory(from: start, byteCount: source.count)
            }
        }
        return try Value(reading: frame)
    }

    static let cases: [Case] = [
        wire(Attribute.self) { $0.attribute() }, wire(Device.self) { $0.device() },
        wire(Recipient.self) { $0.recipient() }, wire(Event.self) { $0.event() },
        wire(DeviceChange.self) { $0.change() },
        wire(PushNotification.self) { $0.notification() },
        wire(WireDeliveries.self) { WireDeliveries($0.deliveries()) },
        wire(HTTPResponse.self) { $0.response() }, wire(Outcome.self) { $0.outcome() },
        wire(RequestBatch.self) { $0.requests() }, wire(PluginFault.self) { $0.fault() },
        wire(SendEndpoint.self) { $0.endpoint() },
        wire(IngestRequest.self) { $0.request() }, wire(IngestResult.self) { $0.ingestResult() },
        wire(BuildResult.self) { $0.buildResult() },
        wire(PrepareResult.self) { $0.prepareResult() },
        wire(CreateMessage.self) { $0.create() },
        wire(LibraryFacts.self) { chance in
            LibraryFacts(
                PluginDescriptor(
                    path: "", id: chance.text(), version: "", summary: "", abi: "",
                    roles: chance.list { $0.text() }, needs: [],
                    configSchema: chance.maybe { _ in #"{"type":"object"}"# }))
        },
        wire(Limits.self) { chance in
            var limits = Limits()
            limits.devicesPerEventMax = Int(chance.below(100_000))
            limits.eventsPerRequestMax = Int(chance.below(100_000))
            return limits
        },
        wire(RoleFacts.self) { $0.facts() },
        wire(EndpointMessage.self) { EndpointMessage(role: $0.role(), app: $0.text()) },
        wire(PrepareMessage.self) {
            PrepareMessage(role: $0.role(), app: $0.text(), batch: WireDeliveries($0.deliveries()))
        },
        wire(ClassifyMessage.self) { chance in
            ClassifyMessage(
                role: chance.role(), app: chance.text(), responses: chance.list { $0.response() })
        },
        wire(ClassifiedMessage.self) { chance in
            ClassifiedMessage(
                settled: chance.list { $0.outcome() }, requests: chance.requests())
        },
        wire(BuildMessage.self) { chance in
            BuildMessage(
                event: chance.event(), recipients: chance.list { $0.recipient() },
                route: chance.text(), options: chance.text())
        },
        wire(IngestMessage.self) { chance in
            chance.flag()
                ? .done(chance.ingestResult()) : .deferred(timeoutMs: UInt32(chance.below(9_999)))
        },
        wire(SubmitMessage.self) {
            SubmitMessage(app: $0.text(), flight: $0.next(), batch: WireDeliveries($0.deliveries()))
        },
        wire(OutcomesMessage.self) { chance in
            OutcomesMessage(flight: chance.next(), outcomes: chance.list { $0.outcome() })
        },
        wire(KeyValueEdit.self) { chance in
            chance.flag()
                ? .add(Int64(bitPattern: chance.next()), forMs: chance.maybe { $0.next() })
                : .replace(
                    expected: chance.maybe { $0.bytes() }, value: chance.maybe { $0.bytes() },
                    forMs: chance.maybe { $0.next() })
        },
        wire(KeyValueEdited.self) { chance in
            KeyValueEdited(isDone: chance.flag(), value: chance.maybe { $0.bytes() })
        },
        wire(SendEndpoint.ClientIdentity.self) {
            SendEndpoint.ClientIdentity(certificate: $0.bytes(), key: $0.bytes())
        },
        wire(MetricMessage.self) { chance in
            MetricMessage(
                number: UInt32(chance.below(1_000)), name: chance.text(),
                labels: chance.list { $0.attribute() }, isGauge: chance.flag())
        },
        wire(CountMessage.self) {
            CountMessage(
                number: UInt32($0.below(1_000)), isSet: $0.flag(),
                value: Int64(truncatingIfNeeded: $0.next()))
        },
        wire(LogMessage.self) { chance in
            LogMessage(
                level: PluginLogLevel(rawValue: UInt32(chance.below(5))) ?? .info,
                message: chance.text(), fields: chance.list { $0.attribute() })
        },
        wire(PluginHTTPCall.self) { chance in
            PluginHTTPCall(
                method: chance.text(), url: chance.text(),
                headers: chance.list { $0.attribute() }, body: chance.bytes(),
                caFile: chance.text(), timeoutMs: UInt32(chance.below(99)), redirectsMax: 3,
                refusesPrivateAddresses: chance.flag())
        },
        wire(PluginHTTPAnswer.self) { chance in
            PluginHTTPAnswer(
                status: UInt32(chance.below(600)), headers: chance.list { $0.attribute() },
                body: chance.bytes())
        },
        wire(PluginCertificate.self) { chance in
            PluginCertificate(
                subject: chance.text(), userID: chance.text(), notBeforeUnixS: -5,
                notAfterUnixS: Int64(chance.below(1 << 40)),
                extensions: (0..<chance.below(4)).map { _ in
                    .init(oid: chance.text(), der: chance.bytes())
                })
        },
        wire(WireResult<WireNothing>.self) { chance in
            WireResult(chance.flag() ? .success(WireNothing()) : .failure(chance.fault()))
        },
        wire(WireResult<[UInt8]?>.self) { chance in
            WireResult(
                chance.flag()
                    ? .success(chance.maybe { $0.bytes() }) : .failure(chance.fault()))
        },
        wire(WireResult<[Device]>.self) { chance in
            WireResult(.success(chance.list { $0.device() }))
        },
    ]

    @Test func `notifications by chance fill every member of the model`() {
        var chance = Chance(state: 1)
        let made = (0..<64).map { _ in
            Mirror(reflecting: chance.notification()).children.map(\.value)
        }
        for (index, member) in Mirror(reflecting: PushNotification()).children.enumerated() {
            let empty = String(describing: member.value)
            #expect(
                made.contains { String(describing: $0[index]) != empty },
                "add `\(member.label ?? "")` to Chance.notification()")
        }
    }

    @Test(arguments: cases)
    func `a message arrives as it was sent`(kind: Case) throws {
        for seed in Self.seeds {
            var chance = Chance(state: seed)
            for round in 0..<20 {
                let (bytes, again, words) = try kind.roundTrip(&chance, round == 0)
                #expect(bytes == again, "seed \(seed)")
                #expect(words.0 == words.1, "seed \(seed)")
            }
        }
    }

    @Test(arguments: cases)
    func `a message that is cut or has too much is refused`(kind: Case) throws {
        for seed in Self.seeds.prefix(2) {
            var chance = Chance(state: seed)
            let bytes = try kind.roundTrip(&chance, false).bytes
            for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 200)) {
                #expect(throws: WireFault.self, "seed \(seed), \(count) of \(bytes.count)") {
                    try kind.read(Array(bytes[..<count]))
                }
            }
            #expect(throws: WireFault.self, "seed \(seed)") { try kind.read(bytes + [0]) }
        }
    }

    @Test(arguments: cases)
    func `garbage is a fault or a message, and never a crash`(kind: Case) throws {
        for seed in Self.seeds {
            var chance = Chance(state: seed)
            for _ in 0..<30 {
                let noise = (0..<chance.below(300)).map { _ in
                    UInt8(truncatingIfNeeded: chance.next())
                }
                do throws(WireFault) { try kind.read(noise) } catch {}
                var bytes = try kind.roundTrip(&chance, false).bytes
                for _ in 0..<chance.below(8) where !bytes.isEmpty {
                    bytes[Int(chance.below(UInt64(bytes.count)))] = UInt8(
                        truncatingIfNeeded: chance.flag() ? 0xFF : chance.next())
                }
                do throws(WireFault) { try kind.read(bytes) } catch {}
            }
        }
    }

    @Test func `all messages together are more than one`() { #expect(Self.cases.count >= 40) }

    @Test func `deliveries that share a content share it again`() throws {
        let shared = SharedNotification(PushNotification(), receivedUnixMs: 7)
        let other = SharedNotification(PushNotification(), receivedUnixMs: 0)
        let given = [shared, other, shared, shared, other].enumerated().map { index, content in
            Delivery(
                id: UInt64(index), eventID: 0, route: "", sender: "", stableID: "",
                deadlineUnixMs: 0, content: content, device: Device())
        }
        let back = try Self.decoded(
            Self.encoded(WireDeliveries(given)), as: WireDeliveries.self
        ).deliveries
        #expect(back[0].content === back[2].content && back[0].content === back[3].content)
        #expect(back.map(\.content.receivedUnixMs) == [7, 0, 7, 7, 0])
        #expect(back[1].content === back[4].content && back[0].content !== back[1].content)
    }

    @Test func `a list cannot claim more than its message holds`() {
        // A count of four billion with nothing after it.
        let bomb: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF]
        #expect(throws: WireFault.self) { try Self.decoded(bomb, as: [Device].self) }
        #expect(throws: WireFault.self) { try Self.decoded(bomb, as: String.self) }
        #expect(throws: WireFault.self) { try Self.decoded(bomb, as: [UInt8].self) }
    }

    @Test func `a message that is too long says so and is not sent`() {
        let writer = WireWriter(limit: 100)
        writer.put([UInt8](repeating: 1, count: 90))
        #expect(!writer.isTooLong)
        writer.put([UInt8](repeating: 1, count: 90))
        writer.put(UInt8(1))
        #expect(writer.isTooLong)
    }
}
