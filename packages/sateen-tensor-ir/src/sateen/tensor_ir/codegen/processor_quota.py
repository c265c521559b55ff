"""LLVM IR that finds how many processors the control groups of a process let it use (Linux, cgroups(7))."""

from string import Template


def quota_text(mount: str, membership: str, most: int) -> str:
    """LLVM IR text that defines `i32 @sateen_processor_quota()`; it uses umin of i32 and i64, declared elsewhere.

    The answer is at most `most`. Groups are mounted at `mount`, those of version 1 in its folder `cpu`; the file
    `membership` lists the groups of the process.
    """
    fields = {
        "membership": _c_string(membership),
        "mount_v2": _c_string(mount),
        "mount_v1": _c_string(f"{mount}/cpu"),
        "most": most,
    }
    return Template(_QUOTA).substitute(fields)


def _c_string(text: str) -> str:
    content = text.encode() + b"\0"
    escaped = "".join(f"\\{byte:02x}" for byte in content)
    return f'[{len(content)} x i8] c"{escaped}"'


_QUOTA = r"""
@sateen_membership = internal constant $membership
@sateen_mount_v2 = internal constant $mount_v2
@sateen_mount_v1 = internal constant $mount_v1
@sateen_quota_v2 = internal constant [9 x i8] c"/cpu.max\00"
@sateen_quota_v1 = internal constant [18 x i8] c"/cpu.cfs_quota_us\00"
@sateen_period_v1 = internal constant [19 x i8] c"/cpu.cfs_period_us\00"
@sateen_file_format = internal constant [9 x i8] c"%s%.*s%s\00"
@sateen_cpu = internal constant [4 x i8] c"cpu\00"
@sateen_line_ends = internal constant [2 x i8] c"\0a\00"
@sateen_field_ends = internal constant [3 x i8] c":\0a\00"
@sateen_name_ends = internal constant [4 x i8] c",:\0a\00"

; The processors whose time the process may use: the least that any of its control groups allows; the largest number
; where none sets a quota. A line of the membership is `number:controller,controller:path`, of version 2 `number::path`.
; The mounts count also without it: that of a container may begin at a group that the path doesn't tell.
define internal i32 @sateen_processor_quota() nounwind {
entry:
  %text = alloca [16384 x i8]
  %mount.v2 = call i32 @sateen_least_quota(i1 false, ptr %text, i32 0)
  %mount.v1 = call i32 @sateen_least_quota(i1 true, ptr %text, i32 0)
  %mounts = call i32 @llvm.umin.i32(i32 %mount.v2, i32 %mount.v1)
  call void @sateen_read_text(ptr @sateen_membership, ptr %text, i64 16384)
  br label %line
line:
  %line.at = phi ptr [ %text, %entry ], [ %following, %next ]
  %least = phi i32 [ %mounts, %entry ], [ %lower, %next ]
  %line.length = call i64 @strcspn(ptr %line.at, ptr @sateen_line_ends)
  %line.end = getelementptr i8, ptr %line.at, i64 %line.length
  %is.none = icmp eq i64 %line.length, 0
  br i1 %is.none, label %end, label %number
number:
  %number.length = call i64 @strcspn(ptr %line.at, ptr @sateen_field_ends)
  %number.end = getelementptr i8, ptr %line.at, i64 %number.length
  br label %name
name:
  %before.name = phi ptr [ %number.end, %number ], [ %name.end, %other ]
  %name.at = getelementptr i8, ptr %before.name, i64 1
  %name.length = call i64 @strcspn(ptr %name.at, ptr @sateen_name_ends)
  %name.end = getelementptr i8, ptr %name.at, i64 %name.length
  %after.name = load i8, ptr %name.end
  %difference = call i32 @strncmp(ptr %name.at, ptr @sateen_cpu, i64 3)
  %is.like.cpu = icmp eq i32 %difference, 0
  %is.as.long = icmp eq i64 %name.length, 3
  %is.v1 = and i1 %is.like.cpu, %is.as.long
  %is.v2 = icmp eq i64 %name.length, 0
  %is.known = or i1 %is.v1, %is.v2
  br i1 %is.known, label %path, label %other
other:
  %is.more = icmp eq i8 %after.name, 44  ; a comma
  br i1 %is.more, label %name, label %next
path:
  %rest.length = call i64 @strcspn(ptr %name.end, ptr @sateen_field_ends)
  %path.distance = add i64 %rest.length, 1
  %path.at = getelementptr i8, ptr %name.end, i64 %path.distance
  %line.end.number = ptrtoint ptr %line.end to i64
  %path.number = ptrtoint ptr %path.at to i64
  %path.length = sub i64 %line.end.number, %path.number
  %is.path = icmp sgt i64 %path.length, 0
  br i1 %is.path, label %walk, label %next
walk:
  %path.size = trunc i64 %path.length to i32
  %allowed = call i32 @sateen_least_quota(i1 %is.v1, ptr %path.at, i32 %path.size)
  %less = call i32 @llvm.umin.i32(i32 %least, i32 %allowed)
  br label %next
next:
  %lower = phi i32 [ %least, %other ], [ %least, %path ], [ %less, %walk ]
  %last = load i8, ptr %line.end
  %is.ended = icmp ne i8 %last, 0
  %step = zext i1 %is.ended to i64
  %following = getelementptr i8, ptr %line.end, i64 %step
  br label %line
end:
  ret i32 %least
}

; The least number of processors, rounded up, that the quotas of the control group at `path` allow, and of those around
; it up to the mount.
define internal i32 @sateen_least_quota(i1 %is.v1, ptr %path, i32 %size) nounwind {
entry:
  %file = alloca [8192 x i8]
  %period.at = alloca i64
  %unused = alloca i64
  %mount = select i1 %is.v1, ptr @sateen_mount_v1, ptr @sateen_mount_v2
  %quota.name = select i1 %is.v1, ptr @sateen_quota_v1, ptr @sateen_quota_v2
  br label %group
group:
  %least = phi i32 [ $most, %entry ], [ %lower, %shorten ]
  %length = phi i32 [ %size, %entry ], [ %shorter, %shorten ]
  call i32 (ptr, i64, ptr, ...) @snprintf(ptr %file, i64 8192, ptr @sateen_file_format, ptr %mount, i32 %length,
    ptr %path, ptr %quota.name)
  %quota = call i64 @sateen_numbers_in_file(ptr %file, ptr %period.at)
  br i1 %is.v1, label %other.file, label %divide
other.file:
  call i32 (ptr, i64, ptr, ...) @snprintf(ptr %file, i64 8192, ptr @sateen_file_format, ptr %mount, i32 %length,
    ptr %path, ptr @sateen_period_v1)
  %period.v1 = call i64 @sateen_numbers_in_file(ptr %file, ptr %unused)
  store i64 %period.v1, ptr %period.at
  br label %divide
divide:
  %period = load i64, ptr %period.at
  %is.quota = icmp sgt i64 %quota, 0
  %is.period = icmp sgt i64 %period, 0
  %is.set = and i1 %is.quota, %is.period
  %divisor = select i1 %is.set, i64 %period, i64 1
  %less = sub i64 %quota, 1
  %whole = udiv i64 %less, %divisor
  %rounded = add i64 %whole, 1
  %limit = select i1 %is.set, i64 %rounded, i64 $most
  %small = call i64 @llvm.umin.i64(i64 %limit, i64 $most)
  %allowed = trunc i64 %small to i32
  %lower = call i32 @llvm.umin.i32(i32 %least, i32 %allowed)
  %is.mount = icmp eq i32 %length, 0
  br i1 %is.mount, label %end, label %shorten
shorten:
  %kept = phi i32 [ %length, %divide ], [ %shorter, %shorten ]
  %shorter = sub i32 %kept, 1
  %last.at = getelementptr i8, ptr %path, i32 %shorter
  %last = load i8, ptr %last.at
  %is.slash = icmp eq i8 %last, 47
  %is.empty = icmp eq i32 %shorter, 0
  %is.shortened = or i1 %is.slash, %is.empty
  br i1 %is.shortened, label %group, label %shorten
end:
  ret i32 %lower
}

; The first number in a file, and at `second` the one after it; 0 for what is missing or no number, such as "max".
define internal i64 @sateen_numbers_in_file(ptr %path, ptr %second) nounwind {
  %text = alloca [64 x i8]
  %after.at = alloca ptr
  call void @sateen_read_text(ptr %path, ptr %text, i64 64)
  %number = call i64 @strtol(ptr %text, ptr %after.at, i32 10)
  %after = load ptr, ptr %after.at
  %following = call i64 @strtol(ptr %after, ptr null, i32 10)
  store i64 %following, ptr %second
  ret i64 %number
}

; What a file begins with, ended by a zero, in `size` bytes; nothing of one that can't be read.
define internal void @sateen_read_text(ptr %path, ptr %text, i64 %size) nounwind {
entry:
  %most = sub i64 %size, 1
  store i8 0, ptr %text
  %file = call i32 (ptr, i32, ...) @open(ptr %path, i32 524288)  ; O_RDONLY | O_CLOEXEC
  %is.missing = icmp slt i32 %file, 0
  br i1 %is.missing, label %end, label %next
next:
  %length = phi i64 [ 0, %entry ], [ %longer, %part ]
  %at = getelementptr i8, ptr %text, i64 %length
  %space = sub i64 %most, %length
  %found = call i64 @read(i32 %file, ptr %at, i64 %space)
  %is.part = icmp sgt i64 %found, 0
  br i1 %is.part, label %part, label %whole
part:
  %longer = add i64 %length, %found
  br label %next
whole:
  store i8 0, ptr %at
  call i32 @close(i32 %file)
  br label %end
end:
  ret void
}

declare i32 @open(ptr, i32, ...)
declare i64 @read(i32, ptr, i64)
declare i32 @close(i32)
declare i64 @strtol(ptr, ptr, i32)
declare i64 @strcspn(ptr, ptr)
declare i32 @strncmp(ptr, ptr, i64)
declare i32 @snprintf(ptr, i64, ptr, ...)
"""
