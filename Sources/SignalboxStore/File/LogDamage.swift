internal import Foundation

/// Commits at the end of a write-ahead log that SQLite silently drops, because bytes before them are damaged.
///
/// SQLite reads a log up to the first frame whose checksum is wrong. After a power cut that is the commit that was
/// being written and was never confirmed. More than one commit behind that frame were confirmed, and are lost.
struct LogDamage: Equatable {
    /// The path of a copy of the damaged log, for recovery by hand; nil if it could not be copied.
    var copy: String?
    var commits: Int

    /// Call it before SQLite opens the database and restarts the log. nil if nothing is lost.
    static func find(database: String) -> LogDamage? {
        let path = "\(database)-wal"
        guard let log = try? Data(contentsOf: URL(filePath: path), options: .alwaysMapped) else {
            return nil
        }
        let commits = log.withUnsafeBytes { lostCommits($0) }
        guard commits > 1 else { return nil }
        let copy = "\(path).damaged"
        try? FileManager.default.removeItem(atPath: copy)
        do {
            try FileManager.default.copyItem(atPath: path, toPath: copy)
        } catch {
            return LogDamage(copy: nil, commits: commits)
        }
        return LogDamage(copy: copy, commits: commits)
    }

    /// Commits of the log's current run behind its first unreadable frame.
    static func lostCommits(_ log: UnsafeRawBufferPointer) -> Int {
        let (headerBytes, frameHeaderBytes) = (32, 24)
        guard log.count > headerBytes + frameHeaderBytes else { return 0 }
        func word(_ offset: Int) -> UInt32 {
            UInt32(bigEndian: log.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        // The magic number's last bit is the byte order of the checksums.
        guard word(0) | 1 == 0x377f_0683 else { return 0 }
        let isBigEndian = word(0) & 1 == 1
        let pageBytes = Int(word(8))
        guard pageBytes >= 512, pageBytes <= 65_536 else { return 0 }
        var sum: (UInt32, UInt32) = (0, 0)
        func add(_ range: Range<Int>) {
            for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
                let one = log.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
                let two = log.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                sum.0 =
                    sum.0 &+ (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one))
                    &+ sum.1
                sum.1 =
                    sum.1 &+ (isBigEndian ? UInt32(bigEndian: two) : UInt32(littleEndian: two))
                    &+ sum.0
            }
        }
        add(0..<24)
        var isReadable = sum == (word(24), word(28))
        // Frames of an earlier run have other salts. If the header is damaged, the first frame has the current ones.
        let salts =
            isReadable ? (word(16), word(20)) : (word(headerBytes + 8), word(headerBytes + 12))
        var lost = 0
        var frame = headerBytes
        while frame + frameHeaderBytes + pageBytes <= log.count {
            let isOfThisRun = (word(frame + 8), word(frame + 12)) == salts
            if isReadable, isOfThisRun {
                add(frame..<frame + 8)
                add(frame + frameHeaderBytes..<frame + frameHeaderBytes + pageBytes)
                isReadable = sum == (word(frame + 16), word(frame + 20))
            } else {
                isReadable = false
            }
            // Its second word is not 0 in the last frame of a commit.
            if !isReadable, isOfThisRun, word(frame + 4) != 0 { lost += 1 }
            frame += frameHeaderBytes + pageBytes
        }
        return lost
    }
}

extension LogDamage {
    /// For the log.
    func words(database: String) -> String {
        let kept = copy.map { "the log as it was is kept as \($0)" } ?? "the log could not be kept"
        return
            "\(database)-wal is damaged: its last \(commits) commits cannot be read, and what they stored may "
            + "be lost; \(kept)"
    }
}
