; The serial host, of machines without threads: parallel_for runs all iterations in order, in its caller. There is no
; memory beyond what callers give, and no log. A pointer is a pointer on every machine, so one text serves them all.
@sateen_table = internal constant { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, i32 } {
  i32 2, i32 1, ptr null, ptr @parallel_for, ptr @allocate, ptr @release, ptr @log_line, ptr null, i32 0
}

define internal i32 @parallel_for(ptr %host, ptr %task, ptr %closure, i64 %extent) nounwind {
  %has.work = icmp sgt i64 %extent, 0
  br i1 %has.work, label %work, label %done
work:
  %status = call i32 %task(ptr %closure, i64 0, i64 %extent)
  ret i32 %status
done:
  ret i32 0
}

define internal ptr @allocate(ptr %host, i64 %bytes, i64 %alignment) nounwind {
  ret ptr null
}

define internal void @release(ptr %host, ptr %memory) nounwind {
  ret void
}

define internal void @log_line(ptr %host, i32 %level, ptr %message) nounwind {
  ret void
}

define i32 @sateen_abi_version() nounwind {
  ret i32 2
}

define ptr @sateen_default_host() nounwind {
  ret ptr @sateen_table
}
