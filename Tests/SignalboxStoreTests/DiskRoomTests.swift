import Foundation
import SignalboxCore
import Testing

@testable import SignalboxStore

/// A disk that the gateway itself has filled.
@Suite struct DiskRoomTests {
    /// A disk with nothing but the store, 2 MiB larger than the reserve.
    static func freeBytes(_ path: String) -> UInt64 {
        let used = [path, "\(path)-wal"].reduce(into: UInt64(0)) { sum, file in
            let facts = try? FileManager.default.attributesOfItem(atPath: file)
            sum += (facts?[.size] as? NSNumber)?.uint64Value ?? 0
        }
        let all: UInt64 = 34 << 20
        return all - min(all, used)
    }

    @Test func `a disk that the store filled has room again once all is sent`() async throws {
        let rig = try StoreTests.Rig(freeBytes: Self.freeBytes)
        var last: UInt64 = 0
        while !rig.store.isDiskFull {
            let ids = last + 1...last + 1_000
            let answer = await rig.append([StoreTests.item(ids.map { StoreTests.delivery($0) })])
            if case .committed = answer { last = ids.upperBound }
        }
        #expect(rig.faults.value.last?.contains("until waiting pushes are sent") == true)
        var leased = await rig.lease(max: 1_000).deliveries
        while !leased.isEmpty {
            await rig.settle(leased.map { .delivered($0.id) })
            leased = await rig.lease(max: 1_000).deliveries
        }
        #expect(rig.store.waitingCount == 0)
        // The store checks by itself.
        for _ in 0..<300_000 where rig.store.isDiskFull {
            _ = try await rig.store.devices(app: "", user: "u")
        }
        #expect(!rig.store.isDiskFull)
        #expect(
            await rig.append([StoreTests.item([StoreTests.delivery(last + 1)])])
                == .committed(duplicates: []))
        await rig.store.close()
    }
}
