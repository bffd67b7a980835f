# Cuts a text into documents, shuffles them and writes two JSONL files of {"text": ...}.
#
#   awk -v train=FILE -v validation=FILE -v part=0.05 -f split_text.awk TEXT...
#
# Documents end at lines that are a single `%`, if the text has such lines; else at empty lines.
# The order depends on the documents alone, so the same text always gives the same two files.

# gsub would need backslashes that every awk counts differently.
function swap(text, from, to,    parts, count, i, joined) {
  count = split(text, parts, from)
  joined = parts[1]
  for (i = 2; i <= count; ++i) joined = joined to parts[i]
  return joined
}

function json(text) {
  text = swap(text, "\\\\", "\\\\")
  text = swap(text, "\"", "\\\"")
  text = swap(text, "\t", "\\t")
  text = swap(text, "\n", "\\n")
  gsub(/[\001-\037]/, "", text)  # backspaces that once underlined words on paper, and the like
  return "{\"text\": \"" text "\"}"
}

function finish(list, count, document) {
  sub(/\n+$/, "", document)
  if (document !~ /[^ \t\n]/) return count
  list[count] = document
  return count + 1
}

# Park and Miller's generator: exact in the 53 bits of an awk number.
function random(below) {
  state = (state * 16807) % 2147483647
  return int(state / 2147483647 * below)
}

BEGIN { marked_count = spaced_count = 0 }

{
  sub(/\r$/, "")
  if ($0 == "%") {
    has_marks = 1
    marked_count = finish(marked, marked_count, document)
    document = ""
  } else {
    document = document $0 "\n"
  }
  if ($0 == "") {
    spaced_count = finish(spaced, spaced_count, paragraph)
    paragraph = ""
  } else {
    paragraph = paragraph $0 "\n"
  }
}

END {
  if (has_marks) {
    count = finish(marked, marked_count, document)
    for (i = 0; i < count; ++i) documents[i] = marked[i]
  } else {
    count = finish(spaced, spaced_count, paragraph)
    for (i = 0; i < count; ++i) documents[i] = spaced[i]
  }
  held_out = int(count * part)
  if (held_out < 1) {
    print "split_text: " count " documents are too few to hold out " part * 100 " %" > "/dev/stderr"
    exit 1
  }
  state = 1
  for (i = count - 1; i > 0; --i) {
    j = random(i + 1)
    document = documents[i]
    documents[i] = documents[j]
    documents[j] = document
  }
  for (i = 0; i < count; ++i) print json(documents[i]) > (i < held_out ? validation : train)
  print count - held_out " documents to train on, " held_out " held out"
}
