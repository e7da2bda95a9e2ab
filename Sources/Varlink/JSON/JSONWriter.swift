// SPDX-License-Identifier: Apache-2.0

/// Writes JSON into bytes, value by value.
///
/// Commas are its business; that an object gets members and an array gets values is its caller's. It cannot be copied, since it
/// writes directly into the memory that is sent.
public struct JSONWriter: ~Copyable {
    @usableFromInline var output: ByteOutput
    /// Whether a value stands before the place written to next.
    @usableFromInline var needsComma = false

    /// What was written.
    public var bytes: [UInt8] { Array(output.bytes) }

    /// Makes a writer with room for `capacity` bytes; it grows as needed.
    public init(reserving capacity: Int = 256) {
        output = ByteOutput(reserving: capacity)
    }

    /// Makes a writer whose bytes begin with those of `prefix`.
    public init(appendingTo prefix: [UInt8]) {
        output = ByteOutput(reserving: prefix.count + 256)
        prefix.withUnsafeBufferPointer { output.append($0) }
    }

    /// Makes a writer that goes on behind the bytes of an output.
    init(_ output: consuming ByteOutput) {
        self.output = output
    }

    /// The output, with what was written.
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
    public mutating func value(_ value: some JSONWritable) {
        value.write(to: &self)
    }

    /// Writes a member of the object that is being written.
    @inlinable
    @inline(__always)
    public mutating func member(_ name: StaticString, _ value: some JSONWritable) {
        self.name(name)
        value.write(to: &self)
    }

    /// Writes a member of the object that is being written, or nothing where there is no value.
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

    /// Writes a member of the object that is being written, `null` where there is no value.
    @inlinable
    @inline(__always)
    public mutating func memberOrNull(_ name: StaticString, _ value: (some JSONWritable)?) {
        self.name(name)
        value.write(to: &self)
    }

    /// Begins a member whose value is an object; its members come next, then ``endObject()``.
    ///
    /// For what is written piece by piece. What is written at one go has ``member(_:_:)`` with a closure.
    public mutating func beginObject(_ name: StaticString) {
        self.name(name)
        open(UInt8(ascii: "{"))
    }

    /// Ends the object that was begun last.
    public mutating func endObject() { close(UInt8(ascii: "}")) }

    /// Begins a member whose value is an array; its values come next, then ``endArray()``.
    public mutating func beginArray(_ name: StaticString) {
        self.name(name)
        open(UInt8(ascii: "["))
    }

    /// Ends the array that was begun last.
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes a member whose name is known only now.
    @inlinable
    @inline(__always)
    public mutating func member(named name: String, _ value: some JSONWritable) {
        self.name(named: name)
        value.write(to: &self)
    }

    /// Writes a member whose value is JSON already.
    public mutating func member(_ name: StaticString, raw bytes: [UInt8]) {
        self.name(name)
        raw(bytes)
    }

    /// Writes a string that is ASCII and needs no escapes, as its type makes sure.
    public mutating func plainString(_ text: String) {
        text.utf8Span.span.withUnsafeBufferPointer { bytes in
            plainString(length: bytes.count) { place in
                if let source = bytes.baseAddress { place.initialize(from: source, count: bytes.count) }
            }
        }
    }

    /// Writes a string whose `length` bytes `body` fills in; they must be ASCII that needs no escapes.
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

    /// Writes a value that is JSON already; it is not checked.
    public mutating func raw(_ bytes: [UInt8]) {
        comma()
        bytes.withUnsafeBufferPointer { output.append($0) }
        needsComma = true
    }
}

// MARK: - Parts

extension JSONWriter {
    /// Writes the comma before a value where one is needed.
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

    /// Writes a name that needs no escapes, with its comma and colon, at one go.
    @inlinable
    @inline(__always)
    mutating func name(_ name: StaticString) {
        let count = name.utf8CodeUnitCount
        let room = output.room(count &+ 4)
        // Written over where none is needed.
        room[0] = UInt8(ascii: ",")
        let index = needsComma ? 1 : 0
        room[index] = UInt8(ascii: "\"")
        (room + index + 1).initialize(from: name.utf8Start, count: count)
        room[index &+ count &+ 1] = UInt8(ascii: "\"")
        room[index &+ count &+ 2] = UInt8(ascii: ":")
        output.advance(by: index &+ count &+ 3)
        needsComma = false
    }

    /// Writes a name that may need escapes, with its comma and colon.
    @usableFromInline
    mutating func name(named name: String) {
        string(name)
        output.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a string; only what RFC 8259 does not allow as it is gets escaped.
    mutating func string(_ text: String) {
        // A span needs no reference to the string of its own, which counts where many strings are written.
        text.utf8Span.span.withUnsafeBufferPointer { string($0) }
    }

    @inline(__always)
    private mutating func string(_ bytes: UnsafeBufferPointer<UInt8>) {
        comma()
        // Most strings have nothing to escape, and go in one piece.
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

    /// Writes the rest of a string, from the first byte that has to be escaped.
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
