%struct.slot = type { i32, i32, ptr, ptr, i64, i64, [32 x i8] }
%struct.sateen_host = type { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, i32 }
%struct.block = type { ptr, i32, [56 x i8] }

@joined = internal global i32 0, align 4
@slots = internal global [255 x %struct.slot] zeroinitializer, align 64
@sateen_table = internal constant %struct.sateen_host { i32 2, i32 0, ptr null, ptr @parallel_for, ptr @allocate, ptr @release, ptr @log_line, ptr null, i32 0 }, align 4
@in_parallel = internal global i32 0, align 4
@free_blocks = internal unnamed_addr global ptr null, align 4
@in_list = internal global i32 0, align 4

; Function Attrs: nounwind
define hidden void @sateen_pool_join() local_unnamed_addr #0 {
  %1 = atomicrmw add ptr @joined, i32 1 acq_rel, align 4
  %2 = icmp sgt i32 %1, 254
  br i1 %2, label %3, label %4

3:                                                ; preds = %0
  ret void

4:                                                ; preds = %0
  %5 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %1
  %6 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %1, i32 2
  %7 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %1, i32 3
  %8 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %1, i32 4
  %9 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %1, i32 5
  %10 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %1, i32 1
  br label %11

11:                                               ; preds = %35, %4
  %12 = phi i32 [ 0, %4 ], [ %37, %35 ]
  %13 = load atomic i32, ptr %5 acquire, align 64
  %14 = icmp eq i32 %13, 2
  br i1 %14, label %15, label %24

15:                                               ; preds = %11
  %16 = cmpxchg ptr %5, i32 2, i32 4 acq_rel acquire, align 4
  %17 = extractvalue { i32, i1 } %16, 1
  br i1 %17, label %18, label %26

18:                                               ; preds = %15
  %19 = load ptr, ptr %6, align 8
  %20 = load ptr, ptr %7, align 4
  %21 = load i64, ptr %8, align 16
  %22 = load i64, ptr %9, align 8
  %23 = tail call i32 %19(ptr noundef %20, i64 noundef %21, i64 noundef %22) #7
  store i32 %23, ptr %10, align 4
  store atomic i32 0, ptr %5 release, align 64
  br label %35

24:                                               ; preds = %11
  %25 = icmp sgt i32 %12, 19999
  br i1 %25, label %28, label %35

26:                                               ; preds = %15
  %27 = icmp sgt i32 %12, 19999
  br i1 %27, label %30, label %35

28:                                               ; preds = %24
  %29 = icmp eq i32 %13, 1
  br i1 %29, label %33, label %30

30:                                               ; preds = %26, %28
  %31 = cmpxchg ptr %5, i32 0, i32 1 acq_rel acquire, align 4
  %32 = extractvalue { i32, i1 } %31, 1
  br i1 %32, label %33, label %35

33:                                               ; preds = %30, %28
  %34 = tail call i32 @llvm.wasm.memory.atomic.wait32(ptr nonnull %5, i32 1, i64 -1)
  br label %35

35:                                               ; preds = %26, %18, %33, %30, %24
  %36 = phi i32 [ 0, %18 ], [ 0, %33 ], [ %12, %30 ], [ %12, %24 ], [ %12, %26 ]
  %37 = add nsw i32 %36, 1
  br label %11
}

; Function Attrs: inaccessiblemem_or_argmemonly nounwind
declare i32 @llvm.wasm.memory.atomic.wait32(ptr nocapture readonly, i32, i64) #1

; Function Attrs: mustprogress nofree norecurse nosync nounwind readnone willreturn
define hidden i32 @sateen_abi_version() local_unnamed_addr #2 {
  ret i32 2
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind readnone willreturn
define hidden nonnull ptr @sateen_default_host() local_unnamed_addr #2 {
  ret ptr @sateen_table
}

; Function Attrs: nounwind
define internal i32 @parallel_for(ptr nocapture noundef readonly %0, ptr noundef %1, ptr noundef %2, i64 noundef %3) #0 {
  %5 = icmp slt i64 %3, 1
  br i1 %5, label %91, label %6

6:                                                ; preds = %4
  %7 = load atomic i32, ptr @joined acquire, align 4
  %8 = tail call i32 @llvm.smin.i32(i32 %7, i32 255)
  %9 = add nsw i32 %8, 1
  %10 = sext i32 %9 to i64
  %11 = getelementptr inbounds %struct.sateen_host, ptr %0, i32 0, i32 1
  %12 = load i32, ptr %11, align 4
  %13 = icmp sgt i32 %12, 0
  %14 = zext i32 %12 to i64
  %15 = tail call i64 @llvm.smin.i64(i64 %14, i64 %10)
  %16 = select i1 %13, i64 %15, i64 %10
  %17 = tail call i64 @llvm.smin.i64(i64 %16, i64 %3)
  %18 = icmp eq i64 %17, 1
  br i1 %18, label %22, label %19

19:                                               ; preds = %6
  %20 = cmpxchg ptr @in_parallel, i32 0, i32 1 acq_rel acquire, align 4
  %21 = extractvalue { i32, i1 } %20, 1
  br i1 %21, label %24, label %22

22:                                               ; preds = %19, %6
  %23 = tail call i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %3) #7
  br label %91

24:                                               ; preds = %19
  %25 = freeze i64 %17
  %26 = sdiv i64 %3, %25
  %27 = mul i64 %26, %25
  %28 = sub i64 %3, %27
  %29 = icmp ne i64 %28, 0
  %30 = zext i1 %29 to i64
  %31 = add nsw i64 %26, %30
  %32 = icmp sgt i64 %17, 1
  br i1 %32, label %35, label %33

33:                                               ; preds = %24
  %34 = tail call i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %31) #7
  br label %89

35:                                               ; preds = %24, %53
  %36 = phi i64 [ %44, %53 ], [ %31, %24 ]
  %37 = phi i64 [ %54, %53 ], [ 1, %24 ]
  %38 = trunc i64 %37 to i32
  %39 = add i32 %38, -1
  %40 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %39
  %41 = add nsw i64 %36, %26
  %42 = icmp slt i64 %37, %28
  %43 = zext i1 %42 to i64
  %44 = add nsw i64 %41, %43
  %45 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %39, i32 2
  store ptr %1, ptr %45, align 8
  %46 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %39, i32 3
  store ptr %2, ptr %46, align 4
  %47 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %39, i32 4
  store i64 %36, ptr %47, align 16
  %48 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %39, i32 5
  store i64 %44, ptr %48, align 8
  %49 = atomicrmw xchg ptr %40, i32 2 acq_rel, align 4
  %50 = icmp eq i32 %49, 1
  br i1 %50, label %51, label %53

51:                                               ; preds = %35
  %52 = tail call i32 @llvm.wasm.memory.atomic.notify(ptr nonnull %40, i32 1)
  br label %53

53:                                               ; preds = %51, %35
  %54 = add nuw nsw i64 %37, 1
  %55 = icmp eq i64 %54, %17
  br i1 %55, label %56, label %35

56:                                               ; preds = %53
  %57 = tail call i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %31) #7
  br i1 %32, label %58, label %89

58:                                               ; preds = %56, %85
  %59 = phi i64 [ %87, %85 ], [ 1, %56 ]
  %60 = phi i32 [ %86, %85 ], [ %57, %56 ]
  %61 = trunc i64 %59 to i32
  %62 = add i32 %61, -1
  %63 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %62
  %64 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %62, i32 2
  %65 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %62, i32 3
  %66 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %62, i32 4
  %67 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %62, i32 5
  %68 = getelementptr inbounds [255 x %struct.slot], ptr @slots, i32 0, i32 %62, i32 1
  br label %69

69:                                               ; preds = %71, %58
  %70 = load atomic i32, ptr %63 acquire, align 64
  switch i32 %70, label %81 [
    i32 2, label %72
    i32 4, label %71
  ]

71:                                               ; preds = %69, %75, %72
  br label %69

72:                                               ; preds = %69
  %73 = cmpxchg ptr %63, i32 2, i32 0 acq_rel acquire, align 4
  %74 = extractvalue { i32, i1 } %73, 1
  br i1 %74, label %75, label %71

75:                                               ; preds = %72
  %76 = load ptr, ptr %64, align 8
  %77 = load ptr, ptr %65, align 4
  %78 = load i64, ptr %66, align 16
  %79 = load i64, ptr %67, align 8
  %80 = tail call i32 %76(ptr noundef %77, i64 noundef %78, i64 noundef %79) #7
  store i32 %80, ptr %68, align 4
  br label %71

81:                                               ; preds = %69
  %82 = icmp eq i32 %60, 0
  br i1 %82, label %83, label %85

83:                                               ; preds = %81
  %84 = load i32, ptr %68, align 4
  br label %85

85:                                               ; preds = %81, %83
  %86 = phi i32 [ %84, %83 ], [ %60, %81 ]
  %87 = add nuw nsw i64 %59, 1
  %88 = icmp eq i64 %87, %17
  br i1 %88, label %89, label %58

89:                                               ; preds = %85, %33, %56
  %90 = phi i32 [ %57, %56 ], [ %34, %33 ], [ %86, %85 ]
  store atomic i32 0, ptr @in_parallel release, align 4
  br label %91

91:                                               ; preds = %4, %89, %22
  %92 = phi i32 [ %23, %22 ], [ %90, %89 ], [ 0, %4 ]
  ret i32 %92
}

; Function Attrs: nounwind
define internal ptr @allocate(ptr nocapture readnone %0, i64 noundef %1, i64 noundef %2) #0 {
  %4 = icmp ugt i64 %2, 64
  br i1 %4, label %39, label %5

5:                                                ; preds = %3, %5
  %6 = cmpxchg ptr @in_list, i32 0, i32 1 acq_rel acquire, align 4
  %7 = extractvalue { i32, i1 } %6, 1
  br i1 %7, label %8, label %5

8:                                                ; preds = %5, %12
  %9 = phi ptr [ %10, %12 ], [ @free_blocks, %5 ]
  %10 = load ptr, ptr %9, align 4
  %11 = icmp eq ptr %10, null
  br i1 %11, label %19, label %12

12:                                               ; preds = %8
  %13 = getelementptr inbounds %struct.block, ptr %10, i32 0, i32 1
  %14 = load i32, ptr %13, align 4
  %15 = zext i32 %14 to i64
  %16 = icmp ult i64 %15, %1
  br i1 %16, label %8, label %17

17:                                               ; preds = %12
  %18 = load ptr, ptr %10, align 64
  store ptr %18, ptr %9, align 4
  store atomic i32 0, ptr @in_list release, align 4
  br label %34

19:                                               ; preds = %8
  store atomic i32 0, ptr @in_list release, align 4
  %20 = add i64 %1, 65599
  %21 = icmp ugt i64 %20, 4294967295
  br i1 %21, label %34, label %22

22:                                               ; preds = %19
  %23 = lshr i64 %20, 16
  %24 = trunc i64 %23 to i32
  %25 = tail call i32 @llvm.wasm.memory.grow.i32(i32 0, i32 %24)
  %26 = icmp eq i32 %25, -1
  br i1 %26, label %34, label %27

27:                                               ; preds = %22
  %28 = shl i32 %25, 16
  %29 = inttoptr i32 %28 to ptr
  %30 = trunc i64 %20 to i32
  %31 = and i32 %30, -65536
  %32 = add i32 %31, -64
  %33 = getelementptr inbounds %struct.block, ptr %29, i32 0, i32 1
  store i32 %32, ptr %33, align 4
  br label %34

34:                                               ; preds = %27, %22, %19, %17
  %35 = phi ptr [ %10, %17 ], [ %29, %27 ], [ null, %19 ], [ null, %22 ]
  %36 = icmp eq ptr %35, null
  %37 = getelementptr inbounds %struct.block, ptr %35, i32 1
  %38 = select i1 %36, ptr null, ptr %37
  br label %39

39:                                               ; preds = %3, %34
  %40 = phi ptr [ %38, %34 ], [ null, %3 ]
  ret ptr %40
}

; Function Attrs: nofree norecurse nounwind
define internal void @release(ptr nocapture readnone %0, ptr noundef %1) #3 {
  %3 = icmp eq ptr %1, null
  br i1 %3, label %10, label %4

4:                                                ; preds = %2, %4
  %5 = cmpxchg ptr @in_list, i32 0, i32 1 acq_rel acquire, align 4
  %6 = extractvalue { i32, i1 } %5, 1
  br i1 %6, label %7, label %4

7:                                                ; preds = %4
  %8 = getelementptr inbounds %struct.block, ptr %1, i32 -1
  %9 = load ptr, ptr @free_blocks, align 4
  store ptr %9, ptr %8, align 64
  store ptr %8, ptr @free_blocks, align 4
  store atomic i32 0, ptr @in_list release, align 4
  br label %10

10:                                               ; preds = %2, %7
  ret void
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind readnone willreturn
define internal void @log_line(ptr nocapture %0, i32 %1, ptr nocapture %2) #2 {
  ret void
}

; Function Attrs: inaccessiblememonly nounwind
declare i32 @llvm.wasm.memory.atomic.notify(ptr nocapture, i32) #4

; Function Attrs: nounwind
declare i32 @llvm.wasm.memory.grow.i32(i32, i32) #5

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i64 @llvm.smin.i64(i64, i64) #6

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i32 @llvm.smin.i32(i32, i32) #6

attributes #0 = { nounwind "no-builtins" "no-trapping-math"="true" }
attributes #1 = { inaccessiblemem_or_argmemonly nounwind }
attributes #2 = { mustprogress nofree norecurse nosync nounwind readnone willreturn "no-builtins" "no-trapping-math"="true" }
attributes #3 = { nofree norecurse nounwind "no-builtins" "no-trapping-math"="true" }
attributes #4 = { inaccessiblememonly nounwind }
attributes #5 = { nounwind }
attributes #6 = { nocallback nofree nosync nounwind readnone speculatable willreturn }
attributes #7 = { nobuiltin nounwind "no-builtins" }
