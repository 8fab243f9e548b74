import SignalboxCore
import Testing

@Suite struct IDStockTests {
    @Test func `ids come in the order of the ranges, each once`() {
        var stock = IDStock()
        var taken: [Range<UInt64>?] = [stock.take(1)]
        stock.arrive(5..<8)
        stock.arrive(20..<25)
        for count in [2, 2, 0, 3, 1] { taken.append(stock.take(count)) }
        // The rest of the range is too short for two consecutive ids.
        #expect(taken == [nil, 5..<7, 20..<22, 22..<22, 22..<25, nil])
    }

    @Test func `more is asked for once when half is gone, and again after a failure`() {
        var stock = IDStock()
        var asked: [Bool] = []
        func ask() { asked.append(stock.wantsMore()) }
        ask()
        ask()
        stock.arrive(nil)
        ask()
        #expect(asked == [true, false, true])
        let part = UInt64(IDStock.partMax)
        stock.arrive(1..<part + 1)
        ask()
        _ = stock.take(Int(part / 2))
        ask()
        _ = stock.take(1)
        ask()
        stock.arrive(part + 1..<2 * part + 1)
        ask()
        #expect(asked.dropFirst(3) == [false, false, true, false])
        #expect(stock.count == Int(part + part / 2 - 1))
    }
}
