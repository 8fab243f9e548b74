/// The recipients that get a push, each phone once.
struct ChosenRecipients {
    /// A token that more users share in one event is not compared with all of them.
    private static let sharersMax = 64

    /// Indexes of recipients.
    private(set) var indexes: [Int] = []
    /// Where each token was chosen last; empty while so few are chosen that comparing is faster.
    private var places: [ExactText: Int] = [:]
    /// Where the token of each was chosen before that.
    private var former: [Int?] = []
    private let isMany: Bool

    init(countExpected: Int) {
        indexes.reserveCapacity(countExpected)
        isMany = countExpected > 16
        guard isMany else { return }
        places.reserveCapacity(countExpected)
        former.reserveCapacity(countExpected)
    }

    /// Chooses a recipient; returns the one that is left out, since both are the same phone.
    mutating func add(_ index: Int, of recipients: [Recipient]) -> Int? {
        let device = recipients[index].device
        func isSame(_ place: Int) -> Bool { Self.isSame(device, recipients[indexes[place]].device) }
        var place: Int?
        if isMany {
            let before = places.updateValue(indexes.count, forKey: ExactText(device.token))
            place = before
            var rest = Self.sharersMax
            while let other = place, !isSame(other) {
                rest -= 1
                place = rest > 0 ? former[other] : nil
            }
            if place == nil {
                former.append(before)
            } else {
                places[ExactText(device.token)] = before
            }
        } else {
            place = indexes.indices.last {
                device.token.hasSameBytes(as: recipients[indexes[$0]].device.token) && isSame($0)
            }
        }
        guard let place else {
            indexes.append(index)
            return nil
        }
        // The recipient with a user is kept: it knows more, such as a badge or a language.
        guard recipients[indexes[place]].device.user.isEmpty else { return index }
        let left = indexes[place]
        indexes[place] = index
        return left
    }

    /// Whether two recipients with one token are the same phone, and not two users who share it.
    private static func isSame(_ one: Device, _ other: Device) -> Bool {
        one.platform == other.platform
            && (one.app == other.app || one.app.isEmpty || other.app.isEmpty)
            && (one.user.hasSameBytes(as: other.user) || one.user.isEmpty || other.user.isEmpty)
    }
}
