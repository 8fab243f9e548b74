package import CSignalbox
package import SignalboxCore

/// The core's nouns as structs of the contract, in an arena.
extension CArena {
    /// A device.
    package func device(_ device: Device) -> UnsafePointer<sbx_device> {
        let out = make(sbx_device.self)
        write(device, to: out)
        return UnsafePointer(out)
    }

    func write(_ device: Device, to out: UnsafeMutablePointer<sbx_device>) {
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_device>.size)
        out.pointee.app = text(device.app)
        out.pointee.platform = text(device.platform)
        out.pointee.provider = text(device.provider)
        out.pointee.token = text(device.token)
        out.pointee.source_token = text(device.sourceToken)
        out.pointee.user = text(device.user)
        out.pointee.locale = text(device.locale)
        out.pointee.registered_unix_ms = device.registeredUnixMs
        out.pointee.attributes = pairs(device.attributes)
        out.pointee.attribute_count = device.attributes.count
    }

    /// Attributes or headers; NULL: there are none.
    package func pairs(_ attributes: [Attribute]) -> UnsafePointer<sbx_kv>? {
        guard !attributes.isEmpty else { return nil }
        let out = array(sbx_kv.self, count: attributes.count)
        for (index, attribute) in attributes.enumerated() {
            out[index] = sbx_kv(key: text(attribute.key), value: text(attribute.value))
        }
        return UnsafePointer(out)
    }

    /// Recipients, one behind the other.
    package func recipients(_ recipients: [Recipient]) -> UnsafePointer<sbx_recipient> {
        let out = array(sbx_recipient.self, count: recipients.count)
        let devices = array(sbx_device.self, count: recipients.count)
        for (index, recipient) in recipients.enumerated() {
            write(recipient.device, to: devices + index)
            out[index].struct_size = UInt32(MemoryLayout<sbx_recipient>.size)
            out[index].device = UnsafePointer(devices + index)
            out[index].attributes = pairs(recipient.attributes)
            out[index].attribute_count = recipient.attributes.count
        }
        return UnsafePointer(out)
    }

    /// The event without its recipients.
    package func event(_ event: Event) -> UnsafePointer<sbx_event> {
        let out = make(sbx_event.self)
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_event>.size)
        out.pointee.type = text(event.type)
        out.pointee.subject = text(event.subject)
        out.pointee.dedupe = text(event.dedupe)
        out.pointee.dedupe_window_ms = event.dedupeWindowMs
        out.pointee.data = text(event.data)
        out.pointee.time_unix_ms = event.timeUnixMs
        out.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
        return UnsafePointer(out)
    }

    /// A content.
    package func notification(_ note: Notification) -> UnsafePointer<sbx_notification> {
        let out = make(sbx_notification.self)
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_notification>.size)
        var flags: UInt32 = 0
        if note.isSilent { flags |= SBX_N_SILENT }
        if note.isDataOnly { flags |= SBX_N_DATA_ONLY }
        if note.isMutable { flags |= SBX_N_MUTABLE }
        if note.isDryRun { flags |= SBX_N_DRY_RUN }
        if note.isWithdrawn { flags |= SBX_N_WITHDRAW }
        if let badge = note.badge {
            flags |= SBX_N_BADGE
            out.pointee.badge = badge
        }
        out.pointee.flags = flags
        out.pointee.priority = note.priority?.rawValue ?? 0
        out.pointee.expires_unix_ms = note.expiresUnixMs
        out.pointee.title = text(note.title)
        out.pointee.subtitle = text(note.subtitle)
        out.pointee.body = text(note.body)
        out.pointee.sound = text(note.sound)
        out.pointee.thread = text(note.thread)
        out.pointee.category = text(note.category)
        out.pointee.collapse = text(note.collapse)
        out.pointee.image_url = text(note.imageURL)
        out.pointee.link = text(note.link)
        out.pointee.push_type = text(note.pushType)
        out.pointee.data = text(note.data)
        out.pointee.overrides = pairs(note.overrides.map { Attribute($0.family, $0.json) })
        out.pointee.override_count = note.overrides.count
        return UnsafePointer(out)
    }

    /// Deliveries; equal contents have equal pointers.
    package func deliveries(_ deliveries: [Delivery]) -> UnsafePointer<sbx_delivery> {
        let out = array(sbx_delivery.self, count: deliveries.count)
        let devices = array(sbx_device.self, count: deliveries.count)
        // Equal contents must have equal pointers: that is how a plugin renders them once.
        var contents: [ObjectIdentifier: UnsafePointer<sbx_notification>] = [:]
        var last: (id: ObjectIdentifier, pointer: UnsafePointer<sbx_notification>)?
        for (index, delivery) in deliveries.enumerated() {
            let id = ObjectIdentifier(delivery.content)
            if last?.id != id {
                let known = contents[id] ?? notification(delivery.content.notification)
                contents[id] = known
                last = (id, known)
            }
            write(delivery.device, to: devices + index)
            let entry = out + index
            entry.pointee.struct_size = UInt32(MemoryLayout<sbx_delivery>.size)
            if let badge = delivery.badge {
                entry.pointee.flags = SBX_D_BADGE
                entry.pointee.badge = badge
            }
            entry.pointee.attempt = delivery.attempt
            entry.pointee.id = delivery.id
            entry.pointee.deadline_unix_ms = delivery.deadlineUnixMs
            entry.pointee.stable_id = text(delivery.stableID)
            entry.pointee.notification = last?.pointer
            entry.pointee.device = UnsafePointer(devices + index)
        }
        return UnsafePointer(out)
    }
}
