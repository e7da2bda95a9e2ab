// SPDX-License-Identifier: Apache-2.0

import CMosquitto

/// Makes libmosquitto call the session that is the context of a handle.
func setCallbacks(_ handle: OpaquePointer) {
    mosquitto_connect_v5_callback_set(handle) { _, context, code, _, _ in session(context)?.answered(code) }
    mosquitto_disconnect_v5_callback_set(handle) { _, context, code, _ in session(context)?.disconnected(code) }
    mosquitto_message_v5_callback_set(handle) { _, context, message, _ in
        if let message { session(context)?.received(message.pointee) }
    }
    mosquitto_publish_v5_callback_set(handle) { _, context, id, code, _ in session(context)?.acknowledged(id, code) }
    mosquitto_subscribe_v5_callback_set(handle) { _, context, _, count, codes, _ in
        session(context)?.subscribed(Array(UnsafeBufferPointer(start: codes, count: Int(count))))
    }
    mosquitto_log_callback_set(handle) { _, context, level, text in
        if level == MOSQ_LOG_ERR, let text { session(context)?.logged(String(cString: text)) }
    }
}

private func session(_ context: UnsafeMutableRawPointer?) -> MQTTSession? {
    context.map { Unmanaged<MQTTSession>.fromOpaque($0).takeUnretainedValue() }
}

/// Has no password for an encrypted key, for which OpenSSL would otherwise ask at the terminal.
func refusePassword(
    _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ mode: Int32, _ data: UnsafeMutableRawPointer?
) -> Int32 { 0 }
