// SPDX-License-Identifier: Apache-2.0

import CPCRE
import Glibc

/// A regular expression in Perl's syntax (pcre2pattern(3)), which text from outside is matched with at a bounded cost.
///
/// PCRE2 is loaded when the first one is created.
package final class RegularExpression {
    package enum Failure: Error, Equatable {
        /// Not a regular expression, for this reason.
        case invalid(String)
        /// Matching needs too much processor time or memory.
        case tooExpensive(String)
        /// The library is missing.
        case unavailable(String)
    }

    /// PCRE2's shared library for bytes.
    package static let library = "libpcre2-8.so.0"
    /// The maximum length of an expression in bytes.
    package static let maximumBytes = 4096
    /// The memory for one match, in KiB.
    private static let memoryLimit: UInt32 = 64 << 10

    private let functions: statusd_pcre
    private let code: UnsafeMutableRawPointer

    package init(_ pattern: String) throws(Failure) {
        var functions = statusd_pcre?.none
        if let library = dlopen(Self.library, RTLD_NOW | RTLD_LOCAL) {
            functions = withUnsafeTemporaryAllocation(of: statusd_pcre.self, capacity: 1) { room in
                room.baseAddress.flatMap { statusd_pcre_find(library, $0) ? $0.pointee : nil }
            }
        }
        guard let functions else {
            throw .unavailable("cannot load \(Self.library); install the package libpcre2-8-0")
        }
        self.functions = functions
        // The body of a response may be in any encoding. Callouts make the time limit possible.
        let options =
            STATUSD_PCRE_AUTO_CALLOUT | STATUSD_PCRE_UTF | STATUSD_PCRE_NEVER_BACKSLASH_C
            | STATUSD_PCRE_MATCH_INVALID_UTF
        var (error, offset): (CInt, Int) = (0, 0)
        let bytes = Array(pattern.utf8)
        guard let code = functions.compile(bytes, bytes.count, options, &error, &offset, nil) else {
            throw .invalid(Self.text(of: error, at: offset, in: bytes, functions))
        }
        self.code = code
    }

    deinit { functions.code_free(code) }

    /// PCRE2's text for an error, with the position in characters.
    private static func text(of error: CInt, at offset: Int, in pattern: [UInt8], _ functions: statusd_pcre) -> String {
        var text = [UInt8](repeating: 0, count: 256)
        let length = Int(functions.get_error_message(error, &text, text.count))
        let position = String(decoding: pattern.prefix(offset), as: UTF8.self).count
        return "\(String(decoding: text.prefix(max(0, length)), as: UTF8.self)) (at character \(position + 1))"
    }

    /// Whether the expression matches a part of a text.
    ///
    /// - Parameter limit: The processor time of this thread for the match, in whole seconds.
    package func matches(_ text: [UInt8], within limit: Duration = .seconds(1)) throws(Failure) -> Bool {
        guard let data = functions.match_data_create(1, nil), let context = functions.match_context_create(nil) else {
            throw .tooExpensive("out of memory")
        }
        defer {
            functions.match_data_free(data)
            functions.match_context_free(context)
        }
        let budget = ProcessorBudget(limit)
        _ = functions.set_callout(context, spendCallout, Unmanaged.passUnretained(budget).toOpaque())
        _ = functions.set_heap_limit(context, Self.memoryLimit)
        // The time is limited instead of the steps from one start.
        _ = functions.set_match_limit(context, .max)
        let result = withExtendedLifetime(budget) { functions.match(code, text, text.count, 0, 0, data, context) }
        switch result {
        case STATUSD_PCRE_NO_MATCH: return false
        case 0...: return true
        case STATUSD_PCRE_CALLOUT_FAILED:
            throw .tooExpensive("takes more than \(limit.components.seconds) s of processor time")
        default: throw .tooExpensive("needs too much memory")
        }
    }
}

/// The processor time that a match may still use.
///
/// PCRE2's own limit counts the steps from one start of a match, and there may be a start for each byte.
private final class ProcessorBudget {
    private let end: Duration
    private var count = 0

    init(_ limit: Duration) { end = Self.spent() + limit }

    var isSpent: Bool {
        count &+= 1
        // One step may scan the whole text.
        return count & 15 == 0 && Self.spent() > end
    }

    /// The processor time of this thread.
    private static func spent() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

/// Called before each step of a match; a negative result ends it.
private func spendCallout(_ block: UnsafeMutableRawPointer?, _ context: UnsafeMutableRawPointer?) -> CInt {
    guard let context else { return 0 }
    let budget = Unmanaged<ProcessorBudget>.fromOpaque(context).takeUnretainedValue()
    return budget.isSpent ? STATUSD_PCRE_CALLOUT_FAILED : 0
}
