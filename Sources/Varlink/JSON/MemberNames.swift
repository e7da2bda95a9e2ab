// SPDX-License-Identifier: Apache-2.0

/// Hashes of names, with a secret seed for this process.
enum NameHash {
    private static let seed = UInt64.random(in: .min ... .max)

    /// The hash of a name's bytes, eight at a time.
    @inline(__always)
    static func hash(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        let raw = UnsafeRawBufferPointer(name)
        var hash = seed ^ UInt64(truncatingIfNeeded: name.count)
        var index = 0
        while index &+ 8 <= raw.count {
            hash = mix(hash, raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            index &+= 8
        }
        var rest: UInt64 = 0
        while index < raw.count {
            rest = rest << 8 | UInt64(raw[index])
            index &+= 1
        }
        return mix(hash, rest)
    }

    @inline(__always)
    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let (high, low) = (hash ^ word).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
        return high ^ low &+ hash
    }
}

/// The names of an object's members so far, as hashes, to refuse duplicates.
///
/// A few are compared one by one without allocating. Many go into a set, so that an object of thousands of members
/// takes time proportional to its length. Equal hashes count as equal names: because the seed is random, nobody can
/// choose names that collide, and by accident that happens once in 2⁶⁴ pairs.
struct MemberNames {
    private var few = InlineArray<16, UInt64>(repeating: 0)
    private var count = 0
    private var many: Set<UInt64> = []

    /// Adds a name's hash; returns false for a duplicate.
    @inline(__always)
    mutating func insert(_ hash: UInt64) -> Bool {
        for index in 0..<count where few[index] == hash { return false }
        if count < 16 {
            few[count] = hash
            count &+= 1
            return true
        }
        return many.insert(hash).inserted
    }
}
