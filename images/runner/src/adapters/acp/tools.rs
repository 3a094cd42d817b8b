//! Names of tools. Agents put what they like into the title of a call; the same tool gets the same name.

use super::dialect::Naming;

/// The tool of a call, from its title and its kind as its first frame has them, and the name where it has one.
pub(super) fn name(naming: Naming, name: &str, title: &str, kind: &str) -> String {
    if !name.is_empty() {
        return name.to_owned();
    }
    let head = title.split_once(':').map_or(title, |(head, _)| head).trim();
    let said = match naming {
        Naming::Title => of_title(&head.to_lowercase()).or_else(|| by_kind(kind)),
        Naming::Hermes => of_hermes(&head.to_lowercase()).or_else(|| by_kind(kind)),
        Naming::Kind => by_kind(kind),
    };
    match said {
        Some(name) => name.to_owned(),
        None if head.is_empty() => "unknown".to_owned(),
        None => head.to_lowercase().replace(' ', "_"),
    }
}

fn of_title(head: &str) -> Option<&'static str> {
    Some(match head {
        "read" | "read file" => "read_file",
        "write" | "write file" => "write_file",
        "edit" | "patch" => "edit_file",
        "shell" | "bash" | "terminal" | "run command" | "run shell command" => "terminal",
        "search" | "grep" | "find" => "search_files",
        "glob" => "glob",
        "web search" => "web_search",
        "fetch" | "web fetch" => "web_fetch",
        "todo" | "todo write" => "todo_write",
        _ => return None,
    })
}

fn of_hermes(head: &str) -> Option<&'static str> {
    Some(match head {
        "terminal" => "terminal",
        "read" => "read_file",
        "write" => "write_file",
        "search" => "search_files",
        "web search" => "web_search",
        "extract" => "web_extract",
        "delegate" => "delegate_task",
        "analyze image" => "vision_analyze",
        "execute code" => "execute_code",
        _ if head.starts_with("patch") => "patch",
        _ => return None,
    })
}

fn by_kind(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "read" => "read_file",
        "edit" => "write_file",
        "execute" => "terminal",
        "search" => "search_files",
        "fetch" => "web_search",
        "think" => "thinking",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_tool_has_one_name() {
        for (naming, given, title, kind, wanted) in [
            (Naming::Title, "", "bash: ls", "execute", "terminal"),
            (Naming::Title, "", "Bash", "execute", "terminal"),
            (Naming::Title, "", "Read", "read", "read_file"),
            (
                Naming::Title,
                "",
                "Ask The Oracle",
                "other",
                "ask_the_oracle",
            ),
            (Naming::Title, "", "ls -l", "execute", "terminal"),
            (Naming::Title, "Write", "Preparing file…", "edit", "Write"),
            (Naming::Title, "", "", "", "unknown"),
            (Naming::Hermes, "", "terminal: ls", "", "terminal"),
            (Naming::Hermes, "", "patch (replace): a.rs", "edit", "patch"),
            (Naming::Hermes, "", "delegate: x", "", "delegate_task"),
            (Naming::Hermes, "", "odd", "read", "read_file"),
            (Naming::Kind, "", "printf x: y", "execute", "terminal"),
            (Naming::Kind, "", "made.txt", "read", "read_file"),
        ] {
            assert_eq!(
                name(naming, given, title, kind),
                wanted,
                "{naming:?} {title}"
            );
        }
    }
}
