import CKafka
import Foundation
import PluginRig

/// The brokers of librdkafka's own tests, inside this process: Kafka's protocol on real sockets, with topics, groups
/// and their offsets in memory.
final class KafkaBrokers: @unchecked Sendable {
    // `@unchecked Sendable`: the handles are set once, and the library locks what they stand for.
    private let owner: OpaquePointer
    private let cluster: OpaquePointer
    private let producer: OpaquePointer
    private let topics: [String: Int32]
    /// The group of who reads a topic here.
    private static let reader = "reader"
    let addresses: [String]

    init(count: Int = 3, topics: [String: Int32]) throws {
        guard let owner = Self.client(RD_KAFKA_PRODUCER, ["bootstrap.servers": "127.0.0.1:1"]),
            let cluster = rd_kafka_mock_cluster_new(owner, Int32(count)),
            let words = rd_kafka_mock_cluster_bootstraps(cluster)
        else { throw PluginRig.Failure(description: "there are no brokers") }
        self.owner = owner
        self.topics = topics
        self.cluster = cluster
        let bootstraps = String(cString: words)
        addresses = bootstraps.split(separator: ",").map { String($0) }
        for (topic, partitions) in topics {
            rd_kafka_mock_topic_create(cluster, topic, partitions, Int32(min(count, 3)))
        }
        for group in ["signalbox", Self.reader] {
            rd_kafka_mock_coordinator_set(cluster, "group", group, 1)
        }
        guard
            let producer = Self.client(
                RD_KAFKA_PRODUCER,
                [
                    "bootstrap.servers": bootstraps, "enable.idempotence": "true",
                    "message.max.bytes": "20000000",
                    // What is sent together is read together.
                    "batch.size": "20000000", "linger.ms": "50",
                ])
        else { throw PluginRig.Failure(description: "there is no producer") }
        self.producer = producer
    }

    private static func client(
        _ type: rd_kafka_type_t, _ settings: [String: String]
    ) -> OpaquePointer? {
        let conf = rd_kafka_conf_new()
        for (name, value) in settings { rd_kafka_conf_set(conf, name, value, nil, 0) }
        rd_kafka_conf_set(conf, "log_level", "0", nil, 0)
        return rd_kafka_new(type, conf, nil, 0)
    }

    /// `["127.0.0.1:1234", ...]`, for the configuration.
    var list: String { "[" + addresses.map { "\"\($0)\"" }.joined(separator: ", ") + "]" }

    /// Sends messages, and waits until a topic has them.
    func publish(_ topic: String, _ bodies: [String]) async throws {
        guard let handle = rd_kafka_topic_new(producer, topic, nil) else { return }
        for body in bodies {
            var text = Array(body.utf8)
            let status = rd_kafka_produce(
                handle, RD_KAFKA_PARTITION_UA, Int32(RD_KAFKA_MSG_F_COPY), &text, text.count, nil,
                0, nil)
            if status != 0 { throw PluginRig.Failure(description: "no broker takes a message") }
        }
        let producer = Handle(producer)
        let left = try await Tool.aside { rd_kafka_flush(producer.pointer, 60_000) }
        rd_kafka_topic_destroy(handle)
        guard left == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw PluginRig.Failure(description: "the brokers do not answer")
        }
    }

    /// All messages of a topic from its beginning, as soon as there are so many: key and body.
    func messages(_ topic: String, _ count: Int) async throws -> [(key: String, body: String)] {
        let settings = [
            "bootstrap.servers": addresses.joined(separator: ","), "group.id": Self.reader,
            "auto.offset.reset": "earliest",
        ]
        guard let consumer = Self.client(RD_KAFKA_CONSUMER, settings) else { return [] }
        let handle = Handle(consumer)
        return try await Tool.aside {
            let topics = rd_kafka_topic_partition_list_new(1)
            rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA)
            rd_kafka_subscribe(handle.pointer, topics)
            rd_kafka_topic_partition_list_destroy(topics)
            var all: [(key: String, body: String)] = []
            let end = ContinuousClock.now + .seconds(60)
            while all.count < count, ContinuousClock.now < end {
                guard let message = rd_kafka_consumer_poll(handle.pointer, 100) else { continue }
                if message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
                    all.append(
                        (
                            Self.text(message.pointee.key, message.pointee.key_len),
                            Self.text(message.pointee.payload, message.pointee.len)
                        ))
                }
                rd_kafka_message_destroy(message)
            }
            rd_kafka_consumer_close(handle.pointer)
            rd_kafka_destroy(handle.pointer)
            return all
        }
    }

    private static func text(_ pointer: UnsafeMutableRawPointer?, _ count: Int) -> String {
        String(
            decoding: UnsafeRawBufferPointer(start: pointer, count: pointer == nil ? 0 : count),
            as: UTF8.self)
    }

    /// The offsets that a group has committed, summed over the partitions of a topic.
    func committed(_ group: String, _ topic: String, partitions: Int32) async throws -> Int64 {
        let settings = [
            "bootstrap.servers": addresses.joined(separator: ","), "group.id": group,
        ]
        guard let consumer = Self.client(RD_KAFKA_CONSUMER, settings) else { return 0 }
        let handle = Handle(consumer)
        return try await Tool.aside {
            let list = rd_kafka_topic_partition_list_new(partitions)
            for partition in 0..<partitions {
                rd_kafka_topic_partition_list_add(list, topic, partition)
            }
            rd_kafka_committed(handle.pointer, list, 5_000)
            var sum: Int64 = 0
            if let list {
                for index in 0..<Int(list.pointee.cnt) {
                    sum += max(0, list.pointee.elems[index].offset)
                }
            }
            rd_kafka_topic_partition_list_destroy(list)
            rd_kafka_destroy(handle.pointer)
            return sum
        }
    }

    /// Takes a broker down; the first one leads its partitions, as in a real cluster. The first one itself stays: these
    /// brokers cannot move a group.
    func fail(_ broker: Int32) {
        for (topic, partitions) in topics {
            for partition in 0..<partitions {
                rd_kafka_mock_partition_set_leader(cluster, topic, partition, 1)
            }
        }
        rd_kafka_mock_broker_set_down(cluster, broker)
    }

    /// Lets a broker come back.
    func restore(_ broker: Int32) { rd_kafka_mock_broker_set_up(cluster, broker) }

    /// The brokers have no such topic.
    func lack(_ topic: String) {
        rd_kafka_mock_topic_set_error(cluster, topic, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART)
    }

    func end() {
        rd_kafka_destroy(producer)
        rd_kafka_mock_cluster_destroy(cluster)
        rd_kafka_destroy(owner)
    }

    /// A client, which may be used from any thread.
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
        init(_ pointer: OpaquePointer) { self.pointer = pointer }
    }
}
