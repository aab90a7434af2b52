# SPDX-License-Identifier: BSD-3-Clause
# Bash completion of weftrun, weftinfo, weftsim, weftbench, weftd and weftpmi. It knows no option by itself: names, arguments and the
# words that an option accepts are read from the command's --help when a user completes.

# A line for each option of COMMAND: its names with commas between, a colon, its argument's name, a colon, the words that it accepts.
_weft_options() {
  "$1" --help 2>/dev/null | awk '
    /^  -/ {
      names = ""; argument = ""; words = ""; text = $0
      # Names have a comma between them, and blanks or none; one space before an argument, several before the text.
      sub(/^  /, "", text)
      while (match(text, /^--?[A-Za-z0-9-]+/)) {
        names = names (names == "" ? "" : ",") substr(text, 1, RLENGTH)
        text = substr(text, RLENGTH + 1)
        if (!sub(/^, ?/, "", text)) break
      }
      if (match(text, /^ [^ :[]+/)) argument = substr(text, 2, RLENGTH - 1)
      gsub(/\([^)]*\)/, "", text)
      if (argument ~ /^(WHAT|WHEN|WHO|RANK)$/ && split(text, parts, ": ") == 2) {
        count = split(parts[2], listed, ",")
        for (i = 1; i <= count; i++) {
          gsub(/^ +| +$/, "", listed[i])
          if (listed[i] !~ / /) words = words " " listed[i]
        }
      }
      print names ":" argument ":" words
    }'
}

_weft() {
  local command=$1 word=${COMP_WORDS[COMP_CWORD]} options i name argument words line known expects=
  COMPREPLY=()
  options=$(_weft_options "$command")
  # The words before the cursor: which of them is an option's argument, and where the program of weftrun and weftpmi begins.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    name=${COMP_WORDS[i]}
    if [[ -n $expects ]]; then
      ((i < COMP_CWORD)) && expects=
      continue
    fi
    if [[ $name != -* ]]; then
      # The program's own completion completes its arguments, where bash-completion is there.
      if [[ ${command##*/} == @(weftrun|weftpmi) ]]; then
        if ((i < COMP_CWORD)); then
          declare -F _command_offset >/dev/null && _command_offset "$i"
        else
          mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
        fi
      fi
      return
    fi
    ((i < COMP_CWORD)) || break
    while IFS=: read -r known argument words; do
      [[ ,$known, == *",$name,"* && -n $argument ]] && expects=$argument line=$words
    done <<<"$options"
  done
  case $expects in
    WHAT | WHEN | WHO | RANK) mapfile -t COMPREPLY < <(compgen -W "$line" -- "$word") ;;
    DIR) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    NAME) mapfile -t COMPREPLY < <(compgen -v -- "$word") ;;
    COMMAND) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
    LIST) mapfile -t COMPREPLY < <(compgen -A hostname -- "$word") ;;
    FILE | PATH | A.jsonl) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    "")
      words=$(cut -d: -f1 <<<"$options" | tr ',' ' ')
      mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
      ;;
  esac
}
complete -o default -F _weft weftrun weftinfo weftsim weftbench weftd weftpmi
