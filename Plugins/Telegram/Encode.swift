import SignalboxPluginKit

/// Turns deliveries into requests; shared content is rendered once, behind the chat.
struct Encoder: DeliveryEncoder {
    private typealias Rendered = Result<Message, Outcome>

    private let config: Config
    private let path: String
    private let moves: Moves
    private let host: Host
    private var rendered: [UInt: Rendered] = [:]
    /// The request of the last encoded delivery.
    private(set) var draft = RequestDraft()

    init(config: Config, path: String, moves: Moves, host: Host) {
        self.config = config
        self.path = path
        self.moves = moves
        self.host = host
    }

    /// Writes the request into `draft`, or returns the outcome if sending would be useless.
    mutating func encode(_ delivery: borrowing Delivery) -> Outcome? {
        guard let chat = Chat(delivery.device().token) else {
            return Outcome(.rejected, "malformed_token")
        }
        switch content(of: delivery) {
        case .failure(let outcome): return outcome
        case .success(let message):
            draft.begin("POST", path: path)
            draft.header("content-type", "application/json")
            draft.setContext(chat.id)
            let id = moves.current(chat.id)
            draft.appendBody(
                Array((id.hasPrefix("@") ? #"{"chat_id":"\#(id)","# : #"{"chat_id":\#(id),"#).utf8)
                    .span)
            if let thread = chat.thread {
                draft.appendBody(Array(#""message_thread_id":\#(thread),"#.utf8).span)
            }
            draft.appendBody(message.tail.span)
            return nil
        }
    }

    private mutating func content(of delivery: borrowing Delivery) -> Rendered {
        let key = delivery.contentID
        if let known = rendered[key] { return known }
        let note = delivery.notification()
        let value: Rendered
        if note.isDryRun {
            value = .failure(Outcome(.rejected, "no_dry_run"))
        } else if note.isWithdrawn {
            // A message can only be deleted by an id that nobody keeps.
            value = .failure(Outcome(.delivered, "nothing_to_take_back"))
        } else {
            do throws(Outcome) {
                value = .success(try Message(note, config: config, host: host))
            } catch {
                value = .failure(error)
            }
        }
        rendered[key] = value
        return value
    }
}
