-- SPDX-License-Identifier: Apache-2.0
-- A filter for pandoc(1), which packaging/manuals runs: makes a page of man(7) from Markdown that is also read as it is.

-- Tables are lists, as in other manual pages: the first cell is the term, the second its description, and what other cells say follows
-- with the names of their columns.
local function sentence(blocks)
    local inlines = pandoc.utils.blocks_to_inlines(blocks)
    return #inlines > 0 and inlines or nil
end

local function description(header, cells)
    local text = pandoc.List()
    for column = 2, #cells do
        local inlines = sentence(cells[column].contents)
        if inlines and column == 2 then
            text:extend(inlines)
        elseif inlines then
            local name = pandoc.utils.stringify(header[column].contents)
            if #text > 0 then
                if not pandoc.utils.stringify(text):match("[.!?]$") then text:insert(pandoc.Str(".")) end
                text:insert(pandoc.Space())
            end
            text:insert(pandoc.Str(name:sub(1, 1):upper() .. name:sub(2) .. ": "))
            text:extend(inlines)
            text:insert(pandoc.Str("."))
        end
    end
    return { pandoc.Plain(text) }
end

function Table(element)
    local header = element.head.rows[1].cells
    local items = pandoc.List()
    for _, body in ipairs(element.bodies) do
        for _, row in ipairs(body.body) do
            local term = sentence(row.cells[1].contents) or pandoc.Inlines("")
            items:insert({ term, { description(header, row.cells) } })
        end
    end
    return pandoc.DefinitionList(items)
end

-- The page has its own title, and its sections are in capitals.
function Header(element)
    if element.level == 1 then return {} end
    element.level = element.level - 1
    if element.level == 1 then
        element.content = { pandoc.Str(pandoc.utils.stringify(element.content):upper()) }
    end
    return element
end

-- Commands and settings are bold, because a terminal has one font only.
function Code(element) return pandoc.Strong(pandoc.Str(element.text)) end

-- A link within the manual is the name of its page; the address of another is shown.
function Link(element)
    local name = pandoc.utils.stringify(element.content)
    local page, section = name:match("^([%w.-]+)(%(%d%))$")
    if page then return { pandoc.Strong(pandoc.Str(page)), pandoc.Str(section) } end
    if element.target:match("^https?:") then return element end
    return element.content
end

function CodeBlock(element)
    -- A line that begins with a dot or an apostrophe would be a request.
    local text = element.text:gsub("\\", "\\e"):gsub("-", "\\-"):gsub("'", "\\(aq"):gsub("\n%.", "\n\\&."):gsub("^%.", "\\&.")
    return pandoc.RawBlock("man", ".RS 2\n.nf\n" .. text .. "\n.fi\n.RE")
end
