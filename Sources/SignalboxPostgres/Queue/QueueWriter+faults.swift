internal import SignalboxCore

/// A transaction that failed.
extension QueueWriter {
    func give(
        up group: Group, _ fault: TransactionFault, _ session: Session, sinceUnixMs: Int64
    ) -> StoreFailure? {
        let failure = fault.failure(owner: life.token.owner)
        switch fault {
        case .fenced:
            for job in group.open { job.fence(failure) }
            return renew(session, group)
        case .database(let fault) where fault.isFull:
            note(.full, failure, group)
            // Events need room. What ends deliveries makes some.
            let others = group.open.filter { if case .append = $0 { false } else { true } }
            for case .append(_, _, let done) in group.open {
                done(.diskFull("the database is full"))
            }
            if !others.isEmpty, others.count < group.jobs.count {
                return attempt(Group(others), session)
            }
            for job in others { job.refuse(failure) }
            return nil
        case .database(let fault) where fault.isAway:
            // Asking for a commit's outcome may have taken the whole outage.
            grace.lost(sinceUnixMs)
            if group.awaitedUntilNs != nil { note(fault.isSlow ? .slow : .away, failure, group) }
            session.tally.refused(group.open.count)
            group.refuse(failure)
            // It may be connected again, to ask for a commit's outcome.
            return session.isConnected ? nil : failure
        case .database(let fault) where group.jobs.count > 1 && !fault.isSlow:
            // One job is at fault, and the others must not fail with it.
            for job in group.open {
                if let failure = attempt(Group([job]), session) { return failure }
            }
            return nil
        case .database(let fault) where fault.isSlow:
            note(.slow, failure, group)
            session.tally.refused(group.open.count)
            group.refuse(failure)
            return nil
        case .database, .takenOver, .known, .failure:
            note(.failed, failure, group)
            group.refuse(failure)
            return nil
        }
    }

    /// Tells why a group was refused. One without jobs stands for the events that may come.
    private func note(_ trouble: PostgresOutageCause, _ failure: StoreFailure, _ group: Group) {
        if group.awaitedUntilNs != nil || group.jobs.isEmpty {
            outages.refused(group.openEvents, trouble, failure.message)
        } else {
            options.onNotice(.fault(failure.message))
        }
    }

    /// Begins another life, if no other gateway uses the name.
    private func renew(_ session: Session, _ group: Group) -> StoreFailure? {
        let owner = life.token.owner
        do throws(PostgresFault) {
            let next = try session.look { link, _ throws(PostgresFault) in
                try Opening(link, options).renew(owner, options.version)
            }
            guard let next else {
                outages.refused(
                    group.openEvents, .nameTaken,
                    "another gateway named \(owner) uses the database: give each its own gateway.name"
                )
                return nil
            }
            holdings = Holdings()
            life.become(next)
            options.onNotice(.renewed("the gateway \(owner) was fenced; what it held is due again"))
            return nil
        } catch {
            return error.isAway ? error.failure : nil
        }
    }

    /// Asks which of the blocks of a group are still held.
    func refresh(_ group: Group, _ session: Session) -> StoreFailure? {
        let values = held(group.blocks)
        do throws(PostgresFault) {
            let rows = try session.look { link, deadline throws(PostgresFault) in
                try link.run(QueueSQL.heldBlocks, values, byNs: deadline)
            }
            holdings.refresh(group.blocks, Self.marks(rows))
            return nil
        } catch {
            return error.failure
        }
    }
}
