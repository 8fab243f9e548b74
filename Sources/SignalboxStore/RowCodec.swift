internal import Foundation
internal import GRDB
internal import SignalboxCore

/// Notifications and devices in rows, as records.
enum RowCodec {
    static func bytes(_ record: some RecordValue) -> [UInt8] {
        var out = RecordWriter()
        out.append(record)
        return out.bytes
    }

    /// nil: the row is damaged.
    static func notification(_ value: DatabaseValue) -> PushNotification? {
        switch value.storage {
        case .blob(let data): data.withUnsafeBytes { read($0) }
        case .string(let text): OldRows.notification(text)
        default: nil
        }
    }

    /// nil: the row is damaged.
    static func device(_ value: DatabaseValue, app: String) -> Device? {
        switch value.storage {
        case .blob(let data): data.withUnsafeBytes { read($0) }
        case .string(let text): OldRows.device(text, app: app)
        default: nil
        }
    }

    /// nil: the row is damaged.
    static func device(_ row: HotStatement, _ column: Int32, app: String) -> Device? {
        row.isText(column)
            ? OldRows.device(row.text(column), app: app) : row.withBlob(column) { read($0) }
    }

    private static func read<Value: RecordValue>(_ bytes: UnsafeRawBufferPointer) -> Value? {
        guard var record = try? RecordReader(bytes), record.size == bytes.count else { return nil }
        return try? record.read()
    }
}
