// SPDX-License-Identifier: Apache-2.0

/// Writes JSON into bytes, value by value.
///
/// It writes the commas. The caller must write members into objects and values into arrays.
///
/// It cannot be copied, because it writes directly into the memory that is sent.
public struct JSONWriter: ~Copyable {
    @usableFromInline var output: ByteOutput
    /// Whether a comma comes before the next value.
    @usableFromInline var needsComma = false

    /// The bytes written so far.
    public var bytes: [UInt8] { Array(output.bytes) }

    /// Creates a writer with room for `capacity` bytes; it grows as needed.
    public init(reserving capacity: Int = 256) { output = ByteOutput(reserving: capacity) }

    /// Creates a writer that appends to an output.
    init(_ output: consuming ByteOutput) { self.output = output }

    /// Returns the output.
    consuming func takeOutput() -> ByteOutput { output }

    /// Writes an object; `body` writes its members.
    @inlinable
    @inline(__always)
    public mutating func object(_ body: (inout JSONWriter) -> Void) {
        comma()
        open(UInt8(ascii: "{"))
        body(&self)
        close(UInt8(ascii: "}"))
    }

    /// Writes an array; `body` writes its values.
    @inlinable
    @inline(__always)
    public mutating func array(_ body: (inout JSONWriter) -> Void) {
        comma()
        open(UInt8(ascii: "["))
        body(&self)
        close(UInt8(ascii: "]"))
    }

    /// Writes a value.
    @inlinable
    @inline(__always)
    public mutating func value(_ value: some JSONWritable) { value.write(to: &self) }

    /// Writes a member.
    @inlinable
    @inline(__always)
    public mutating func member(_ name: StaticString, _ value: some JSONWritable) {
        self.name(name)
        value.write(to: &self)
    }

    /// Writes a member, or nothing if the value is nil.
    @inlinable
    @inline(__always)
    public mutating func member<Value: JSONWritable>(_ name: StaticString, _ value: Value?) {
        guard let value else { return }
        self.name(name)
        value.write(to: &self)
    }

    /// Writes a member whose value is an object; `body` writes that object's members.
    @inlinable
    @inline(__always)
    public mutating func member(_ name: StaticString, _ body: (inout JSONWriter) -> Void) {
        self.name(name)
        object(body)
    }

    /// Begins a member whose value is an object.
    ///
    /// Its members and ``endObject()`` must follow. This is for replies in pieces; otherwise use a member with a
    /// closure.
    public mutating func beginObject(_ name: StaticString) {
        self.name(name)
        open(UInt8(ascii: "{"))
    }

    /// Ends the object that began last.
    public mutating func endObject() { close(UInt8(ascii: "}")) }

    /// Begins a member whose value is an array.
    ///
    /// Its values and ``endArray()`` must follow.
    public mutating func beginArray(_ name: StaticString) {
        self.name(name)
        open(UInt8(ascii: "["))
    }

    /// Ends the array that began last.
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a member whose name is not a constant.
    @inlinable
    @inline(__always)
    public mutating func member(named name: String, _ value: some JSONWritable) {
        self.name(named: name)
        value.write(to: &self)
    }

    /// Writes a member whose value already is JSON.
    public mutating func member(_ name: StaticString, raw bytes: [UInt8]) {
        self.name(name)
        raw(bytes)
    }

    /// Writes a string that its type guarantees to be ASCII without escapes.
    public mutating func plainString(_ text: String) {
        text.utf8Span.span.withUnsafeBufferPointer { bytes in
            plainString(length: bytes.count) { room in
                if let source = bytes.baseAddress { room.initialize(from: source, count: bytes.count) }
            }
        }
    }

    /// Writes a string whose `length` bytes `body` fills in.
    ///
    /// They must be ASCII without escapes.
    @inline(__always)
    public mutating func plainString(length: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Void) {
        comma()
        let room = output.room(length &+ 2)
        room[0] = UInt8(ascii: "\"")
        body(room + 1)
        room[length &+ 1] = UInt8(ascii: "\"")
        output.advance(by: length &+ 2)
        needsComma = true
    }

    /// Writes a value that already is JSON, without checking it.
    public mutating func raw(_ bytes: [UInt8]) {
        comma()
        bytes.withUnsafeBufferPointer { output.append($0) }
        needsComma = true
    }
}

// MARK: - Parts

extension JSONWriter {
    /// Writes a comma, if the next value needs one.
    @inlinable
    @inline(__always)
    mutating func comma() {
        if needsComma { output.append(UInt8(ascii: ",")) }
    }

    @inlinable
    @inline(__always)
    mutating func open(_ mark: UInt8) {
        output.append(mark)
        needsComma = false
    }

    @inlinable
    @inline(__always)
    mutating func close(_ mark: UInt8) {
        output.append(mark)
        needsComma = true
    }

    /// Writes a name without escapes, its comma and its colon, all at once.
    @inlinable
    @inline(__always)
    mutating func name(_ name: StaticString) {
        let count = name.utf8CodeUnitCount
        let room = output.room(count &+ 4)
        // If no comma is needed, this is overwritten.
        room[0] = UInt8(ascii: ",")
        let index = needsComma ? 1 : 0
        room[index] = UInt8(ascii: "\"")
        (room + index + 1).initialize(from: name.utf8Start, count: count)
        room[index &+ count &+ 1] = UInt8(ascii: "\"")
        room[index &+ count &+ 2] = UInt8(ascii: ":")
        output.advance(by: index &+ count &+ 3)
        needsComma = false
    }

    /// Writes a name that may need escapes, its comma and its colon.
    @usableFromInline
    mutating func name(named name: String) {
        string(name)
        output.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string, escaping only what RFC 8259 requires.
    mutating func string(_ text: String) {
        // A span holds no reference to the string, which matters if many strings are written.
        text.utf8Span.span.withUnsafeBufferPointer { string($0) }
    }

    @inline(__always)
    private mutating func string(_ bytes: UnsafeBufferPointer<UInt8>) {
        comma()
        // Most strings need no escapes and are copied at once.
        let room = output.room(bytes.count &+ 1 &+ ByteScanning.paddingOfEnd)
        room[0] = UInt8(ascii: "\"")
        if let source = bytes.baseAddress { (room + 1).initialize(from: source, count: bytes.count) }
        let end = ByteScanning.endOfPlainRun(closing: room + 1, count: bytes.count)
        needsComma = true
        if end == bytes.count {
            output.advance(by: end &+ 2)
        } else {
            output.advance(by: end &+ 1)
            escape(bytes, from: end)
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Writes the rest of a string, from the first byte that must be escaped.
    @inline(never)
    private mutating func escape(_ bytes: UnsafeBufferPointer<UInt8>, from first: Int) {
        var start = first
        while start < bytes.count {
            let end = ByteScanning.endOfPlainRun(bytes, from: start, asciiOnly: false)
            output.append(UnsafeBufferPointer(rebasing: bytes[start..<end]))
            if end < bytes.count { escape(bytes[end]) }
            start = end &+ 1
        }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): output.append("\\\"")
        case UInt8(ascii: "\\"): output.append("\\\\")
        case 0x0A: output.append("\\n")
        case 0x0D: output.append("\\r")
        case 0x09: output.append("\\t")
        default:
            output.append("\\u00")
            output.append(byte >> 4 + UInt8(ascii: "0"))
            output.append(byte & 15 + (byte & 15 < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10))
        }
    }

    /// Writes `null`.
    @usableFromInline
    mutating func null() {
        comma()
        output.append("null")
        needsComma = true
    }

    mutating func integer(_ value: Int) {
        comma()
        let room = output.room(20)
        var rest = value.magnitude
        var end = value < 0 ? 2 : 1
        var limit: UInt = 10
        while rest >= limit {
            end &+= 1
            limit &*= 10
        }
        output.advance(by: end)
        room[0] = UInt8(ascii: "-")
        repeat {
            end &-= 1
            room[end] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        needsComma = true
    }
}
