//! `model.h`

use super::types::*;

constants! {
    SBX_N_SILENT: u32 = 1;
    SBX_N_DATA_ONLY: u32 = 2;
    SBX_N_MUTABLE: u32 = 4;
    SBX_N_BADGE: u32 = 8;
    SBX_N_DRY_RUN: u32 = 16;
    SBX_N_WITHDRAW: u32 = 64;
    SBX_PRIORITY_LOW: u32 = 1;
    SBX_PRIORITY_NORMAL: u32 = 5;
    SBX_PRIORITY_HIGH: u32 = 10;
    SBX_D_BADGE: u32 = 1;
    SBX_OUTCOME_DELIVERED: u32 = 1;
    SBX_OUTCOME_RETRY: u32 = 2;
    SBX_OUTCOME_THROTTLED: u32 = 3;
    SBX_OUTCOME_UNREGISTERED: u32 = 4;
    SBX_OUTCOME_AUTH: u32 = 5;
    SBX_OUTCOME_CONFIG: u32 = 6;
    SBX_OUTCOME_REJECTED: u32 = 7;
    SBX_SCOPE_ITEM: u32 = 0;
    SBX_SCOPE_APP: u32 = 1;
    SBX_SCOPE_INSTANCE: u32 = 2;
    SBX_OUTCOME_RECONNECT: u32 = 1;
    SBX_CHANGE_REGISTERED: u32 = 1;
    SBX_CHANGE_UNREGISTERED: u32 = 2;
    SBX_CHANGE_INVALID: u32 = 3;
    SBX_CHANGE_PROVEN: u32 = 4;
    SBX_CHANGE_UNPROVEN: u32 = 5;
}

contract! {
    growing sbx_device {
        struct_size: u32,
        reserved: u32,
        app: sbx_str,
        platform: sbx_str,
        provider: sbx_str,
        token: sbx_str,
        source_token: sbx_str,
        user: sbx_str,
        locale: sbx_str,
        registered_unix_ms: u64,
        attributes: *const sbx_kv,
        attribute_count: usize,
    }
    growing sbx_recipient {
        struct_size: u32,
        reserved: u32,
        device: *const sbx_device,
        attributes: *const sbx_kv,
        attribute_count: usize,
    }
    growing sbx_event {
        struct_size: u32,
        reserved: u32,
        r#type: sbx_str,
        subject: sbx_str,
        dedupe: sbx_str,
        data: sbx_str,
        time_unix_ms: u64,
        recipients: *const sbx_recipient,
        recipient_count: usize,
        recipient_stride: usize,
        dedupe_window_ms: u64,
    }
    growing sbx_notification {
        struct_size: u32,
        flags: u32,
        priority: u32,
        badge: i32,
        expires_unix_ms: u64,
        title: sbx_str,
        subtitle: sbx_str,
        body: sbx_str,
        sound: sbx_str,
        thread: sbx_str,
        category: sbx_str,
        collapse: sbx_str,
        image_url: sbx_str,
        link: sbx_str,
        push_type: sbx_str,
        data: sbx_str,
        overrides: *const sbx_kv,
        override_count: usize,
    }
    growing sbx_delivery {
        struct_size: u32,
        flags: u32,
        attempt: u32,
        badge: i32,
        id: u64,
        deadline_unix_ms: u64,
        stable_id: sbx_str,
        notification: *const sbx_notification,
        device: *const sbx_device,
    }
    growing sbx_outcome {
        struct_size: u32,
        kind: u32,
        scope: u32,
        flags: u32,
        item: u64,
        retry_after_ms: u64,
        gone_since_unix_ms: u64,
        provider_code: u32,
        reserved: u32,
        reason: sbx_str,
        detail: sbx_str,
        provider_id: sbx_str,
        new_token: sbx_str,
        credential: sbx_str,
    }
    growing sbx_change {
        struct_size: u32,
        kind: u32,
        id: u64,
        time_unix_ms: u64,
        device: *const sbx_device,
        reason: sbx_str,
        subject: sbx_str,
    }
}
