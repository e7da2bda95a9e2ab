// SPDX-License-Identifier: Apache-2.0

/// One cell of a screen.
struct Cell: Hashable {
    /// The character; nil in the right half of a wide character.
    var character: Character?
    var rendition = Rendition()

    static let blank = Cell(character: " ")
}

/// The appearance of characters: the parts of ECMA-48's “select graphic rendition” that every terminal supports.
struct Rendition: Hashable {
    var isStrong = false
    var isFaint = false
    var isReversed = false
    /// The colour code, from 30 to 37 or 90 to 97; nil for the terminal's default.
    var colour: UInt8?

    /// The control sequence that sets exactly this appearance.
    var sequence: String {
        var codes = "0"
        if isStrong { codes += ";1" }
        if isFaint { codes += ";2" }
        if isReversed { codes += ";7" }
        if let colour { codes += ";\(colour)" }
        return "\u{1b}[\(codes)m"
    }

    /// Applies the codes of a control sequence; unknown codes are ignored.
    mutating func apply(_ codes: some Sequence<Int>) {
        for code in codes {
            switch code {
            case 0: self = Rendition()
            case 1: isStrong = true
            case 2: isFaint = true
            case 7: isReversed = true
            case 30...37, 90...97: colour = UInt8(code)
            case 39: colour = nil
            default: break
            }
        }
    }
}

/// A row of cells.
struct CellRow: Hashable {
    private(set) var cells: [Cell]

    /// Creates the cells of a line, cut to this width.
    ///
    /// The line is text with control sequences for its rendition; other control characters are dropped.
    init(_ line: String, width: Int) {
        cells = []
        cells.reserveCapacity(width)
        var rendition = Rendition()
        var rest = line[...]
        while let character = rest.popFirst() {
            if character == "\u{1b}" {
                Self.apply(&rest, to: &rendition)
                continue
            }
            let columns = character.displayWidth
            guard columns > 0 else { continue }
            if cells.count + columns > width { break }
            cells.append(Cell(character: character, rendition: rendition))
            for _ in 1..<columns { cells.append(Cell(character: nil, rendition: rendition)) }
        }
        // If the text ends reversed, the rest of the row is reversed too.
        var blank = Cell.blank
        blank.rendition.isReversed = rendition.isReversed
        while cells.count < width { cells.append(blank) }
    }

    /// Removes a control sequence from the text, and applies it if it sets the rendition.
    private static func apply(_ rest: inout Substring, to rendition: inout Rendition) {
        guard rest.first == "[" else { return }
        rest.removeFirst()
        let parameters = rest.prefix { $0.isNumber || $0 == ";" }
        rest = rest.dropFirst(parameters.count)
        guard rest.popFirst() == "m" else { return }
        rendition.apply(parameters.isEmpty ? [0] : parameters.split(separator: ";").compactMap { Int($0) })
    }
}
