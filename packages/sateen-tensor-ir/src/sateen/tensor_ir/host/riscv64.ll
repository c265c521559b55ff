%struct.pool = type { i32, [124 x i8], i32, i32, [120 x i8], [510 x %struct.slot] }
%struct.slot = type { i32, i32, ptr, ptr, i64, i64, i64, i32, [76 x i8] }
%struct.sateen_host = type { i32, i32, ptr, ptr, ptr, ptr, ptr, ptr, i32 }
%struct.iovec = type { ptr, i64 }

@.str = private unnamed_addr constant [15 x i8] c"/sys/fs/cgroup\00", align 1
@sateen_cgroup_mount = hidden local_unnamed_addr global ptr @.str, align 8
@.str.1 = private unnamed_addr constant [18 x i8] c"/proc/self/cgroup\00", align 1
@sateen_cgroup_membership = hidden local_unnamed_addr global ptr @.str.1, align 8
@sateen_pool_spins = hidden local_unnamed_addr global i32 4000, align 4
@sateen_pool = internal global %struct.pool zeroinitializer, align 4096
@stop_entry = internal global ptr @sateen_pool_stop, section ".fini_array", align 8
@sateen_table = internal constant %struct.sateen_host { i32 2, i32 0, ptr @sateen_pool, ptr @parallel_for, ptr @allocate, ptr @release, ptr @log_line, ptr null, i32 0 }, align 8
@.str.2 = private unnamed_addr constant [1 x i8] zeroinitializer, align 1
@.str.3 = private unnamed_addr constant [2 x i8] c"\0A\00", align 1
@.str.4 = private unnamed_addr constant [3 x i8] c":\0A\00", align 1
@.str.5 = private unnamed_addr constant [4 x i8] c",:\0A\00", align 1
@.str.6 = private unnamed_addr constant [4 x i8] c"cpu\00", align 1
@.str.7 = private unnamed_addr constant [5 x i8] c"/cpu\00", align 1
@.str.8 = private unnamed_addr constant [18 x i8] c"/cpu.cfs_quota_us\00", align 1
@.str.9 = private unnamed_addr constant [9 x i8] c"/cpu.max\00", align 1
@.str.10 = private unnamed_addr constant [11 x i8] c"%s%s%.*s%s\00", align 1
@.str.11 = private unnamed_addr constant [19 x i8] c"/cpu.cfs_period_us\00", align 1
@.str.12 = private unnamed_addr constant [9 x i8] c"sateen: \00", align 1
@llvm.compiler.used = appending global [1 x ptr] [ptr @stop_entry], section "llvm.metadata"

; Function Attrs: nounwind
define void @sateen_pool_stop() #0 {
  %1 = cmpxchg ptr @sateen_pool, i32 0, i32 1 acquire monotonic, align 4
  %2 = extractvalue { i32, i1 } %1, 1
  br i1 %2, label %3, label %24

3:                                                ; preds = %0
  %4 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 2) monotonic, align 128
  %5 = icmp ugt i32 %4, 1
  br i1 %5, label %6, label %24

6:                                                ; preds = %3
  %7 = zext i32 %4 to i64
  br label %8

8:                                                ; preds = %6, %18
  %9 = phi i64 [ 1, %6 ], [ %22, %18 ]
  %10 = add nsw i64 %9, -1
  %11 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %10
  %12 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %10, i32 2
  store ptr null, ptr %12, align 8
  %13 = atomicrmw xchg ptr %11, i32 2 acq_rel, align 4
  %14 = and i32 %13, 1
  %15 = icmp eq i32 %14, 0
  br i1 %15, label %18, label %16

16:                                               ; preds = %8
  %17 = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull %11, i64 noundef 129, i64 noundef 1) #7
  br label %18

18:                                               ; preds = %8, %16
  %19 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %10, i32 6
  %20 = load i64, ptr %19, align 8
  %21 = tail call signext i32 @pthread_join(i64 noundef %20, ptr noundef null) #7
  %22 = add nuw nsw i64 %9, 1
  %23 = icmp eq i64 %22, %7
  br i1 %23, label %24, label %8

24:                                               ; preds = %18, %3, %0
  ret void
}

declare signext i32 @pthread_join(i64 noundef, ptr noundef) local_unnamed_addr #1

; Function Attrs: mustprogress nofree norecurse nosync nounwind readnone willreturn
define signext i32 @sateen_abi_version() local_unnamed_addr #2 {
  ret i32 2
}

; Function Attrs: mustprogress nofree norecurse nosync nounwind readnone willreturn
define nonnull ptr @sateen_default_host() local_unnamed_addr #2 {
  ret ptr @sateen_table
}

declare i64 @syscall(i64 noundef, ...) local_unnamed_addr #1

; Function Attrs: nounwind
define internal signext i32 @parallel_for(ptr nocapture noundef readonly %0, ptr noundef %1, ptr noundef %2, i64 noundef %3) #0 {
  %5 = alloca [8192 x i8], align 1
  %6 = alloca i64, align 8
  %7 = alloca [16384 x i8], align 1
  %8 = alloca [16 x i64], align 8
  %9 = alloca [16 x i64], align 8
  %10 = alloca [64 x i64], align 8
  %11 = icmp slt i64 %3, 1
  br i1 %11, label %253, label %12

12:                                               ; preds = %4
  %13 = getelementptr inbounds %struct.sateen_host, ptr %0, i64 0, i32 1
  %14 = load i32, ptr %13, align 4
  %15 = icmp eq i32 %14, 1
  %16 = icmp eq i64 %3, 1
  %17 = or i1 %16, %15
  br i1 %17, label %18, label %20

18:                                               ; preds = %12
  %19 = tail call signext i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %3) #7
  br label %253

20:                                               ; preds = %12
  %21 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 2) monotonic, align 128
  %22 = icmp eq i32 %21, 0
  br i1 %22, label %23, label %25

23:                                               ; preds = %20
  %24 = tail call signext i32 @madvise(ptr noundef nonnull @sateen_pool, i64 noundef 65536, i32 noundef signext 18) #7
  br label %25

25:                                               ; preds = %23, %20
  %26 = cmpxchg ptr @sateen_pool, i32 0, i32 1 acquire monotonic, align 4
  %27 = extractvalue { i32, i1 } %26, 1
  br i1 %27, label %30, label %28

28:                                               ; preds = %25
  %29 = tail call signext i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %3) #7
  br label %253

30:                                               ; preds = %25
  %31 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 2) monotonic, align 128
  %32 = icmp eq i32 %31, 0
  br i1 %32, label %33, label %152

33:                                               ; preds = %30
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %8)
  call void @llvm.lifetime.start.p0(i64 128, ptr nonnull %9)
  call void @llvm.lifetime.start.p0(i64 512, ptr nonnull %10)
  %34 = load i32, ptr @sateen_pool_spins, align 4
  store atomic i32 %34, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 3) monotonic, align 4
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(512) %10, i8 0, i64 512, i1 false)
  %35 = call signext i32 @sched_getaffinity(i32 noundef signext 0, i64 noundef 512, ptr noundef nonnull %10) #7
  %36 = icmp eq i32 %35, 0
  br i1 %36, label %37, label %47

37:                                               ; preds = %33, %37
  %38 = phi i64 [ %45, %37 ], [ 0, %33 ]
  %39 = phi i32 [ %44, %37 ], [ 0, %33 ]
  %40 = getelementptr inbounds i64, ptr %10, i64 %38
  %41 = load i64, ptr %40, align 8
  %42 = call i64 @llvm.ctpop.i64(i64 %41)
  %43 = trunc i64 %42 to i32
  %44 = add i32 %39, %43
  %45 = add nuw nsw i64 %38, 1
  %46 = icmp eq i64 %45, 64
  br i1 %46, label %47, label %37

47:                                               ; preds = %37, %33
  %48 = phi i32 [ 1, %33 ], [ %44, %37 ]
  %49 = call signext i32 @madvise(ptr noundef nonnull @sateen_pool, i64 noundef 65536, i32 noundef signext 18) #7
  %50 = icmp eq i32 %49, 0
  br i1 %50, label %51, label %131

51:                                               ; preds = %47
  %52 = call i32 @llvm.umin.i32(i32 %48, i32 511)
  call void @llvm.lifetime.start.p0(i64 16384, ptr nonnull %7)
  %53 = call fastcc signext i32 @least_quota(i32 noundef signext 1, ptr noundef nonnull @.str.2, i32 noundef signext 0, i32 noundef signext %52) #8
  call void @llvm.lifetime.start.p0(i64 8192, ptr nonnull %5)
  call void @llvm.lifetime.start.p0(i64 8, ptr nonnull %6)
  %54 = load ptr, ptr @sateen_cgroup_mount, align 8
  %55 = call signext i32 (ptr, i64, ptr, ...) @snprintf(ptr noundef nonnull %5, i64 noundef 8192, ptr noundef nonnull @.str.10, ptr noundef %54, ptr noundef nonnull @.str.2, i32 noundef signext 0, ptr noundef nonnull @.str.2, ptr noundef nonnull @.str.9) #7
  %56 = call fastcc i64 @numbers_in_file(ptr noundef nonnull %5, ptr noundef nonnull %6) #8
  %57 = load i64, ptr %6, align 8
  %58 = icmp sgt i64 %56, 0
  %59 = icmp sgt i64 %57, 0
  %60 = select i1 %58, i1 %59, i1 false
  br i1 %60, label %61, label %69

61:                                               ; preds = %51
  %62 = add nsw i64 %56, -1
  %63 = udiv i64 %62, %57
  %64 = add nuw nsw i64 %63, 1
  %65 = zext i32 %53 to i64
  %66 = icmp ult i64 %64, %65
  %67 = trunc i64 %64 to i32
  %68 = select i1 %66, i32 %67, i32 %53
  br label %69

69:                                               ; preds = %61, %51
  %70 = phi i32 [ %53, %51 ], [ %68, %61 ]
  call void @llvm.lifetime.end.p0(i64 8192, ptr nonnull %5)
  call void @llvm.lifetime.end.p0(i64 8, ptr nonnull %6)
  %71 = load ptr, ptr @sateen_cgroup_membership, align 8
  store i8 0, ptr %7, align 1
  %72 = call signext i32 (ptr, i32, ...) @open(ptr noundef %71, i32 noundef signext 524288) #7
  %73 = icmp slt i32 %72, 0
  br i1 %73, label %83, label %74

74:                                               ; preds = %69, %74
  %75 = phi i64 [ %80, %74 ], [ 0, %69 ]
  %76 = getelementptr inbounds i8, ptr %7, i64 %75
  %77 = sub i64 16383, %75
  %78 = call i64 @read(i32 noundef signext %72, ptr noundef nonnull %76, i64 noundef %77) #7
  %79 = icmp sgt i64 %78, 0
  %80 = add i64 %78, %75
  br i1 %79, label %74, label %81

81:                                               ; preds = %74
  store i8 0, ptr %76, align 1
  %82 = call signext i32 @close(i32 noundef signext %72) #7
  br label %83

83:                                               ; preds = %81, %69
  %84 = call i64 @strcspn(ptr noundef nonnull %7, ptr noundef nonnull @.str.3) #7
  %85 = icmp eq i64 %84, 0
  br i1 %85, label %129, label %86

86:                                               ; preds = %83, %121
  %87 = phi i64 [ %127, %121 ], [ %84, %83 ]
  %88 = phi i32 [ %122, %121 ], [ %70, %83 ]
  %89 = phi ptr [ %126, %121 ], [ %7, %83 ]
  %90 = getelementptr inbounds i8, ptr %89, i64 %87
  %91 = call i64 @strcspn(ptr noundef nonnull %89, ptr noundef nonnull @.str.4) #7
  %92 = getelementptr inbounds i8, ptr %89, i64 %91
  br label %93

93:                                               ; preds = %106, %86
  %94 = phi ptr [ %92, %86 ], [ %97, %106 ]
  %95 = getelementptr inbounds i8, ptr %94, i64 1
  %96 = call i64 @strcspn(ptr noundef nonnull %95, ptr noundef nonnull @.str.5) #7
  %97 = getelementptr inbounds i8, ptr %95, i64 %96
  %98 = icmp eq i64 %96, 3
  br i1 %98, label %99, label %102

99:                                               ; preds = %93
  %100 = call signext i32 @strncmp(ptr noundef nonnull %95, ptr noundef nonnull @.str.6, i64 noundef 3) #7
  %101 = icmp eq i32 %100, 0
  br label %102

102:                                              ; preds = %99, %93
  %103 = phi i1 [ false, %93 ], [ %101, %99 ]
  %104 = icmp eq i64 %96, 0
  %105 = select i1 %103, i1 true, i1 %104
  br i1 %105, label %109, label %106

106:                                              ; preds = %102
  %107 = load i8, ptr %97, align 1
  %108 = icmp eq i8 %107, 44
  br i1 %108, label %93, label %121

109:                                              ; preds = %102
  %110 = call i64 @strcspn(ptr noundef nonnull %97, ptr noundef nonnull @.str.4) #7
  %111 = getelementptr i8, ptr %97, i64 1
  %112 = getelementptr i8, ptr %111, i64 %110
  %113 = icmp ugt ptr %90, %112
  br i1 %113, label %114, label %121

114:                                              ; preds = %109
  %115 = zext i1 %103 to i32
  %116 = ptrtoint ptr %90 to i64
  %117 = ptrtoint ptr %112 to i64
  %118 = sub i64 %116, %117
  %119 = trunc i64 %118 to i32
  %120 = call fastcc signext i32 @least_quota(i32 noundef signext %115, ptr noundef %112, i32 noundef signext %119, i32 noundef signext %88) #8
  br label %121

121:                                              ; preds = %106, %114, %109
  %122 = phi i32 [ %120, %114 ], [ %88, %109 ], [ %88, %106 ]
  %123 = load i8, ptr %90, align 1
  %124 = icmp ne i8 %123, 0
  %125 = zext i1 %124 to i64
  %126 = getelementptr inbounds i8, ptr %90, i64 %125
  %127 = call i64 @strcspn(ptr noundef nonnull %126, ptr noundef nonnull @.str.3) #7
  %128 = icmp eq i64 %127, 0
  br i1 %128, label %129, label %86

129:                                              ; preds = %121, %83
  %130 = phi i32 [ %70, %83 ], [ %122, %121 ]
  call void @llvm.lifetime.end.p0(i64 16384, ptr nonnull %7)
  br label %131

131:                                              ; preds = %129, %47
  %132 = phi i32 [ %130, %129 ], [ 1, %47 ]
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(128) %8, i8 -1, i64 128, i1 false)
  %133 = call signext i32 @pthread_sigmask(i32 noundef signext 2, ptr noundef nonnull %8, ptr noundef nonnull %9) #7
  %134 = icmp ugt i32 %132, 1
  br i1 %134, label %135, label %149

135:                                              ; preds = %131
  %136 = zext i32 %132 to i64
  br label %137

137:                                              ; preds = %144, %135
  %138 = phi i64 [ 1, %135 ], [ %145, %144 ]
  %139 = add nsw i64 %138, -1
  %140 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %139
  %141 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %139, i32 6
  %142 = call signext i32 @pthread_create(ptr noundef nonnull %141, ptr noundef null, ptr noundef nonnull @work, ptr noundef nonnull %140) #7
  %143 = icmp eq i32 %142, 0
  br i1 %143, label %144, label %147

144:                                              ; preds = %137
  %145 = add nuw nsw i64 %138, 1
  %146 = icmp eq i64 %145, %136
  br i1 %146, label %149, label %137

147:                                              ; preds = %137
  %148 = trunc i64 %138 to i32
  br label %149

149:                                              ; preds = %144, %131, %147
  %150 = phi i32 [ 1, %131 ], [ %148, %147 ], [ %132, %144 ]
  %151 = call signext i32 @pthread_sigmask(i32 noundef signext 2, ptr noundef nonnull %9, ptr noundef null) #7
  store atomic i32 %150, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 2) monotonic, align 128
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %8)
  call void @llvm.lifetime.end.p0(i64 128, ptr nonnull %9)
  call void @llvm.lifetime.end.p0(i64 512, ptr nonnull %10)
  br label %152

152:                                              ; preds = %149, %30
  %153 = phi i32 [ %150, %149 ], [ %31, %30 ]
  %154 = load i32, ptr %13, align 4
  %155 = icmp sgt i32 %154, 0
  %156 = icmp ugt i32 %153, %154
  %157 = select i1 %155, i1 %156, i1 false
  %158 = select i1 %157, i32 %154, i32 %153
  %159 = zext i32 %158 to i64
  %160 = call i64 @llvm.umin.i64(i64 %159, i64 %3)
  %161 = freeze i64 %160
  %162 = udiv i64 %3, %161
  %163 = mul i64 %162, %161
  %164 = sub i64 %3, %163
  %165 = icmp ne i64 %164, 0
  %166 = zext i1 %165 to i64
  %167 = add nsw i64 %162, %166
  %168 = icmp ugt i64 %160, 1
  br i1 %168, label %171, label %169

169:                                              ; preds = %152
  %170 = call signext i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %167) #7
  br label %251

171:                                              ; preds = %152, %193
  %172 = phi i64 [ %179, %193 ], [ %167, %152 ]
  %173 = phi i64 [ %194, %193 ], [ 1, %152 ]
  %174 = add nsw i64 %173, -1
  %175 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %174
  %176 = add nsw i64 %172, %162
  %177 = icmp ult i64 %173, %164
  %178 = zext i1 %177 to i64
  %179 = add nsw i64 %176, %178
  %180 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %174, i32 2
  store ptr %1, ptr %180, align 8
  %181 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %174, i32 3
  store ptr %2, ptr %181, align 16
  %182 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %174, i32 4
  store i64 %172, ptr %182, align 8
  %183 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %174, i32 5
  store i64 %179, ptr %183, align 32
  %184 = load atomic i32, ptr %175 monotonic, align 128
  %185 = icmp eq i32 %184, 1
  br i1 %185, label %186, label %187

186:                                              ; preds = %171
  call fastcc void @adapt(ptr noundef nonnull %175) #8
  br label %187

187:                                              ; preds = %186, %171
  %188 = atomicrmw xchg ptr %175, i32 2 acq_rel, align 4
  %189 = and i32 %188, 1
  %190 = icmp eq i32 %189, 0
  br i1 %190, label %193, label %191

191:                                              ; preds = %187
  %192 = call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull %175, i64 noundef 129, i64 noundef 1) #7
  br label %193

193:                                              ; preds = %187, %191
  %194 = add nuw nsw i64 %173, 1
  %195 = icmp eq i64 %194, %160
  br i1 %195, label %196, label %171

196:                                              ; preds = %193
  %197 = call signext i32 %1(ptr noundef %2, i64 noundef 0, i64 noundef %167) #7
  br i1 %168, label %199, label %251

198:                                              ; preds = %216
  br i1 %168, label %219, label %251

199:                                              ; preds = %196, %216
  %200 = phi i64 [ %217, %216 ], [ 1, %196 ]
  %201 = add nsw i64 %200, -1
  %202 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %201
  %203 = cmpxchg ptr %202, i32 2, i32 0 acquire monotonic, align 4
  %204 = extractvalue { i32, i1 } %203, 1
  br i1 %204, label %205, label %216

205:                                              ; preds = %199
  %206 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %201, i32 2
  %207 = load ptr, ptr %206, align 8
  %208 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %201, i32 3
  %209 = load ptr, ptr %208, align 16
  %210 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %201, i32 4
  %211 = load i64, ptr %210, align 8
  %212 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %201, i32 5
  %213 = load i64, ptr %212, align 32
  %214 = call signext i32 %207(ptr noundef %209, i64 noundef %211, i64 noundef %213) #7
  %215 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %201, i32 1
  store i32 %214, ptr %215, align 4
  br label %216

216:                                              ; preds = %199, %205
  %217 = add nuw nsw i64 %200, 1
  %218 = icmp eq i64 %217, %160
  br i1 %218, label %198, label %199

219:                                              ; preds = %198, %247
  %220 = phi i64 [ %249, %247 ], [ 1, %198 ]
  %221 = phi i32 [ %248, %247 ], [ %197, %198 ]
  %222 = add nsw i64 %220, -1
  %223 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %222
  %224 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 3) monotonic, align 4
  %225 = load atomic i32, ptr %223 acquire, align 128
  %226 = icmp eq i32 %225, 4
  br i1 %226, label %227, label %242

227:                                              ; preds = %219, %230
  %228 = phi i32 [ %231, %230 ], [ %224, %219 ]
  %229 = icmp eq i32 %228, 0
  br i1 %229, label %234, label %230

230:                                              ; preds = %227
  fence seq_cst
  %231 = add i32 %228, -1
  %232 = load atomic i32, ptr %223 acquire, align 128
  %233 = icmp eq i32 %232, 4
  br i1 %233, label %227, label %242

234:                                              ; preds = %227
  %235 = cmpxchg ptr %223, i32 4, i32 5 acq_rel acquire, align 4
  %236 = extractvalue { i32, i1 } %235, 1
  br i1 %236, label %237, label %242

237:                                              ; preds = %234, %237
  %238 = call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull %223, i64 noundef 128, i64 noundef 5, ptr noundef null) #7
  %239 = load atomic i32, ptr %223 acquire, align 128
  %240 = icmp eq i32 %239, 5
  br i1 %240, label %237, label %241

241:                                              ; preds = %237
  call fastcc void @adapt(ptr noundef nonnull %223) #8
  br label %242

242:                                              ; preds = %230, %219, %234, %241
  %243 = icmp eq i32 %221, 0
  br i1 %243, label %244, label %247

244:                                              ; preds = %242
  %245 = getelementptr inbounds %struct.pool, ptr @sateen_pool, i64 0, i32 5, i64 %222, i32 1
  %246 = load i32, ptr %245, align 4
  br label %247

247:                                              ; preds = %242, %244
  %248 = phi i32 [ %246, %244 ], [ %221, %242 ]
  %249 = add nuw nsw i64 %220, 1
  %250 = icmp eq i64 %249, %160
  br i1 %250, label %251, label %219

251:                                              ; preds = %247, %196, %169, %198
  %252 = phi i32 [ %197, %198 ], [ %197, %196 ], [ %170, %169 ], [ %248, %247 ]
  store atomic i32 0, ptr @sateen_pool release, align 4096
  br label %253

253:                                              ; preds = %4, %251, %28, %18
  %254 = phi i32 [ %19, %18 ], [ %252, %251 ], [ %29, %28 ], [ 0, %4 ]
  ret i32 %254
}

; Function Attrs: nounwind
define internal ptr @allocate(ptr nocapture readnone %0, i64 noundef %1, i64 noundef %2) #0 {
  %4 = alloca ptr, align 8
  %5 = tail call i64 @llvm.umax.i64(i64 %2, i64 8)
  %6 = call signext i32 @posix_memalign(ptr noundef nonnull %4, i64 noundef %5, i64 noundef %1) #7
  %7 = icmp eq i32 %6, 0
  %8 = load ptr, ptr %4, align 8
  %9 = select i1 %7, ptr %8, ptr null
  ret ptr %9
}

; Function Attrs: nounwind
define internal void @release(ptr nocapture readnone %0, ptr noundef %1) #0 {
  tail call void @free(ptr noundef %1) #7
  ret void
}

; Function Attrs: nounwind
define internal void @log_line(ptr nocapture readnone %0, i32 signext %1, ptr noundef %2) #0 {
  %4 = alloca [3 x %struct.iovec], align 8
  store ptr @.str.12, ptr %4, align 8
  %5 = getelementptr inbounds %struct.iovec, ptr %4, i64 0, i32 1
  store i64 8, ptr %5, align 8
  %6 = getelementptr inbounds %struct.iovec, ptr %4, i64 1
  store ptr %2, ptr %6, align 8
  %7 = getelementptr inbounds %struct.iovec, ptr %4, i64 1, i32 1
  %8 = tail call i64 @strlen(ptr noundef %2) #7
  store i64 %8, ptr %7, align 8
  %9 = getelementptr inbounds %struct.iovec, ptr %4, i64 2
  store ptr @.str.3, ptr %9, align 8
  %10 = getelementptr inbounds %struct.iovec, ptr %4, i64 2, i32 1
  store i64 1, ptr %10, align 8
  %11 = call i64 @writev(i32 noundef signext 2, ptr noundef nonnull %4, i32 noundef signext 3) #7
  ret void
}

; Function Attrs: nounwind
define internal fastcc void @adapt(ptr nocapture noundef %0) unnamed_addr #0 {
  %2 = alloca [64 x i64], align 8
  %3 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 2) monotonic, align 128
  call void @llvm.memset.p0.i64(ptr noundef nonnull align 8 dereferenceable(512) %2, i8 0, i64 512, i1 false)
  %4 = call signext i32 @sched_getaffinity(i32 noundef signext 0, i64 noundef 512, ptr noundef nonnull %2) #7
  %5 = icmp eq i32 %4, 0
  br i1 %5, label %6, label %16

6:                                                ; preds = %1, %6
  %7 = phi i64 [ %14, %6 ], [ 0, %1 ]
  %8 = phi i32 [ %13, %6 ], [ 0, %1 ]
  %9 = getelementptr inbounds i64, ptr %2, i64 %7
  %10 = load i64, ptr %9, align 8
  %11 = call i64 @llvm.ctpop.i64(i64 %10)
  %12 = trunc i64 %11 to i32
  %13 = add i32 %8, %12
  %14 = add nuw nsw i64 %7, 1
  %15 = icmp eq i64 %14, 64
  br i1 %15, label %16, label %6

16:                                               ; preds = %6, %1
  %17 = phi i32 [ 1, %1 ], [ %13, %6 ]
  %18 = icmp ult i32 %17, %3
  %19 = load i32, ptr @sateen_pool_spins, align 4
  %20 = select i1 %18, i32 0, i32 %19
  store atomic i32 %20, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 3) monotonic, align 4
  %21 = call signext i32 @sched_getcpu() #7
  %22 = getelementptr inbounds %struct.slot, ptr %0, i64 0, i32 7
  %23 = load i32, ptr %22, align 16
  %24 = add nsw i32 %21, 1
  %25 = icmp eq i32 %23, %24
  br i1 %25, label %40, label %26

26:                                               ; preds = %16
  %27 = and i32 %21, 63
  %28 = zext i32 %27 to i64
  %29 = shl nuw i64 1, %28
  %30 = xor i64 %29, -1
  %31 = lshr i32 %21, 6
  %32 = and i32 %31, 63
  %33 = zext i32 %32 to i64
  %34 = getelementptr inbounds [64 x i64], ptr %2, i64 0, i64 %33
  %35 = load i64, ptr %34, align 8
  %36 = and i64 %35, %30
  store i64 %36, ptr %34, align 8
  %37 = getelementptr inbounds %struct.slot, ptr %0, i64 0, i32 6
  %38 = load i64, ptr %37, align 8
  %39 = call signext i32 @pthread_setaffinity_np(i64 noundef %38, i64 noundef 512, ptr noundef nonnull %2) #7
  store i32 %24, ptr %22, align 16
  br label %40

40:                                               ; preds = %16, %26
  ret void
}

declare signext i32 @madvise(ptr noundef, i64 noundef, i32 noundef signext) local_unnamed_addr #1

; Function Attrs: argmemonly mustprogress nocallback nofree nounwind willreturn writeonly
declare void @llvm.memset.p0.i64(ptr nocapture writeonly, i8, i64, i1 immarg) #3

declare signext i32 @pthread_sigmask(i32 noundef signext, ptr noundef, ptr noundef) local_unnamed_addr #1

declare signext i32 @pthread_create(ptr noundef, ptr noundef, ptr noundef, ptr noundef) local_unnamed_addr #1

; Function Attrs: nounwind
define internal ptr @work(ptr noundef %0) #0 {
  %2 = getelementptr inbounds %struct.slot, ptr %0, i64 0, i32 2
  %3 = getelementptr inbounds %struct.slot, ptr %0, i64 0, i32 3
  %4 = getelementptr inbounds %struct.slot, ptr %0, i64 0, i32 4
  %5 = getelementptr inbounds %struct.slot, ptr %0, i64 0, i32 5
  %6 = getelementptr inbounds %struct.slot, ptr %0, i64 0, i32 1
  br label %7

7:                                                ; preds = %42, %1
  %8 = load atomic i32, ptr getelementptr inbounds (%struct.pool, ptr @sateen_pool, i64 0, i32 3) monotonic, align 4
  %9 = load atomic i32, ptr %0 acquire, align 4
  %10 = icmp eq i32 %9, 0
  br i1 %10, label %11, label %25

11:                                               ; preds = %7, %14
  %12 = phi i32 [ %15, %14 ], [ %8, %7 ]
  %13 = icmp eq i32 %12, 0
  br i1 %13, label %18, label %14

14:                                               ; preds = %11
  fence seq_cst
  %15 = add i32 %12, -1
  %16 = load atomic i32, ptr %0 acquire, align 4
  %17 = icmp eq i32 %16, 0
  br i1 %17, label %11, label %25

18:                                               ; preds = %11
  %19 = cmpxchg ptr %0, i32 0, i32 1 acq_rel acquire, align 4
  %20 = extractvalue { i32, i1 } %19, 1
  br i1 %20, label %21, label %25

21:                                               ; preds = %18, %21
  %22 = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull %0, i64 noundef 128, i64 noundef 1, ptr noundef null) #7
  %23 = load atomic i32, ptr %0 acquire, align 4
  %24 = icmp eq i32 %23, 1
  br i1 %24, label %21, label %25

25:                                               ; preds = %14, %21, %7, %18
  %26 = cmpxchg ptr %0, i32 2, i32 4 acquire monotonic, align 4
  %27 = extractvalue { i32, i1 } %26, 1
  br i1 %27, label %28, label %42

28:                                               ; preds = %25
  %29 = load ptr, ptr %2, align 8
  %30 = icmp eq ptr %29, null
  br i1 %30, label %31, label %32

31:                                               ; preds = %28
  ret ptr null

32:                                               ; preds = %28
  %33 = load ptr, ptr %3, align 16
  %34 = load i64, ptr %4, align 8
  %35 = load i64, ptr %5, align 32
  %36 = tail call signext i32 %29(ptr noundef %33, i64 noundef %34, i64 noundef %35) #7
  store i32 %36, ptr %6, align 4
  %37 = atomicrmw xchg ptr %0, i32 0 acq_rel, align 4
  %38 = and i32 %37, 1
  %39 = icmp eq i32 %38, 0
  br i1 %39, label %42, label %40

40:                                               ; preds = %32
  %41 = tail call i64 (i64, ...) @syscall(i64 noundef 98, ptr noundef nonnull %0, i64 noundef 129, i64 noundef 1) #7
  br label %42

42:                                               ; preds = %40, %32, %25
  br label %7
}

declare signext i32 @sched_getaffinity(i32 noundef signext, i64 noundef, ptr noundef) local_unnamed_addr #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind readnone speculatable willreturn
declare i64 @llvm.ctpop.i64(i64) #4

; Function Attrs: nounwind
define internal fastcc signext i32 @least_quota(i32 noundef signext %0, ptr noundef %1, i32 noundef signext %2, i32 noundef signext %3) unnamed_addr #0 {
  %5 = alloca [8192 x i8], align 1
  %6 = alloca i64, align 8
  %7 = alloca i64, align 8
  %8 = icmp eq i32 %0, 0
  %9 = select i1 %8, ptr @.str.2, ptr @.str.7
  %10 = select i1 %8, ptr @.str.9, ptr @.str.8
  br label %11

11:                                               ; preds = %51, %4
  %12 = phi i32 [ %3, %4 ], [ %37, %51 ]
  %13 = phi i32 [ %2, %4 ], [ %52, %51 ]
  %14 = load ptr, ptr @sateen_cgroup_mount, align 8
  %15 = call signext i32 (ptr, i64, ptr, ...) @snprintf(ptr noundef nonnull %5, i64 noundef 8192, ptr noundef nonnull @.str.10, ptr noundef %14, ptr noundef nonnull %9, i32 noundef signext %13, ptr noundef %1, ptr noundef nonnull %10) #7
  %16 = call fastcc i64 @numbers_in_file(ptr noundef nonnull %5, ptr noundef nonnull %6) #8
  br i1 %8, label %17, label %19

17:                                               ; preds = %11
  %18 = load i64, ptr %6, align 8
  br label %23

19:                                               ; preds = %11
  %20 = load ptr, ptr @sateen_cgroup_mount, align 8
  %21 = call signext i32 (ptr, i64, ptr, ...) @snprintf(ptr noundef nonnull %5, i64 noundef 8192, ptr noundef nonnull @.str.10, ptr noundef %20, ptr noundef nonnull %9, i32 noundef signext %13, ptr noundef %1, ptr noundef nonnull @.str.11) #7
  %22 = call fastcc i64 @numbers_in_file(ptr noundef nonnull %5, ptr noundef nonnull %7) #8
  store i64 %22, ptr %6, align 8
  br label %23

23:                                               ; preds = %17, %19
  %24 = phi i64 [ %18, %17 ], [ %22, %19 ]
  %25 = icmp sgt i64 %16, 0
  %26 = icmp sgt i64 %24, 0
  %27 = select i1 %25, i1 %26, i1 false
  br i1 %27, label %28, label %36

28:                                               ; preds = %23
  %29 = add nsw i64 %16, -1
  %30 = udiv i64 %29, %24
  %31 = add nuw nsw i64 %30, 1
  %32 = zext i32 %12 to i64
  %33 = icmp ult i64 %31, %32
  %34 = trunc i64 %31 to i32
  %35 = select i1 %33, i32 %34, i32 %12
  br label %36

36:                                               ; preds = %28, %23
  %37 = phi i32 [ %12, %23 ], [ %35, %28 ]
  %38 = icmp eq i32 %13, 0
  br i1 %38, label %41, label %39

39:                                               ; preds = %36
  %40 = sext i32 %13 to i64
  br label %42

41:                                               ; preds = %36
  ret i32 %37

42:                                               ; preds = %39, %47
  %43 = phi i64 [ %40, %39 ], [ %44, %47 ]
  %44 = add nsw i64 %43, -1
  %45 = and i64 %44, 4294967295
  %46 = icmp eq i64 %45, 0
  br i1 %46, label %51, label %47

47:                                               ; preds = %42
  %48 = getelementptr inbounds i8, ptr %1, i64 %44
  %49 = load i8, ptr %48, align 1
  %50 = icmp eq i8 %49, 47
  br i1 %50, label %51, label %42

51:                                               ; preds = %42, %47
  %52 = trunc i64 %44 to i32
  br label %11
}

declare i64 @strcspn(ptr noundef, ptr noundef) local_unnamed_addr #1

declare signext i32 @strncmp(ptr noundef, ptr noundef, i64 noundef) local_unnamed_addr #1

declare signext i32 @snprintf(ptr noundef, i64 noundef, ptr noundef, ...) local_unnamed_addr #1

; Function Attrs: nounwind
define internal fastcc i64 @numbers_in_file(ptr noundef %0, ptr nocapture noundef writeonly %1) unnamed_addr #0 {
  %3 = alloca [64 x i8], align 1
  %4 = alloca ptr, align 8
  store i8 0, ptr %3, align 1
  %5 = tail call signext i32 (ptr, i32, ...) @open(ptr noundef %0, i32 noundef signext 524288) #7
  %6 = icmp slt i32 %5, 0
  br i1 %6, label %16, label %7

7:                                                ; preds = %2, %7
  %8 = phi i64 [ %13, %7 ], [ 0, %2 ]
  %9 = getelementptr inbounds i8, ptr %3, i64 %8
  %10 = sub i64 63, %8
  %11 = call i64 @read(i32 noundef signext %5, ptr noundef nonnull %9, i64 noundef %10) #7
  %12 = icmp sgt i64 %11, 0
  %13 = add i64 %11, %8
  br i1 %12, label %7, label %14

14:                                               ; preds = %7
  store i8 0, ptr %9, align 1
  %15 = call signext i32 @close(i32 noundef signext %5) #7
  br label %16

16:                                               ; preds = %2, %14
  %17 = call i64 @strtol(ptr noundef nonnull %3, ptr noundef nonnull %4, i32 noundef signext 10) #7
  %18 = load ptr, ptr %4, align 8
  %19 = call i64 @strtol(ptr noundef %18, ptr noundef null, i32 noundef signext 10) #7
  store i64 %19, ptr %1, align 8
  ret i64 %17
}

declare i64 @strtol(ptr noundef, ptr noundef, i32 noundef signext) local_unnamed_addr #1

declare signext i32 @open(ptr noundef, i32 noundef signext, ...) local_unnamed_addr #1

declare i64 @read(i32 noundef signext, ptr noundef, i64 noundef) local_unnamed_addr #1

declare signext i32 @close(i32 noundef signext) local_unnamed_addr #1

declare signext i32 @sched_getcpu() local_unnamed_addr #1

declare signext i32 @pthread_setaffinity_np(i64 noundef, i64 noundef, ptr noundef) local_unnamed_addr #1

declare signext i32 @posix_memalign(ptr noundef, i64 noundef, i64 noundef) local_unnamed_addr #1

declare void @free(ptr noundef) local_unnamed_addr #1

declare i64 @strlen(ptr noundef) local_unnamed_addr #1

declare i64 @writev(i32 noundef signext, ptr noundef, i32 noundef signext) local_unnamed_addr #1

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i64 @llvm.umin.i64(i64, i64) #5

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i64 @llvm.umax.i64(i64, i64) #5

; Function Attrs: nocallback nofree nosync nounwind readnone speculatable willreturn
declare i32 @llvm.umin.i32(i32, i32) #5

; Function Attrs: argmemonly nocallback nofree nosync nounwind willreturn
declare void @llvm.lifetime.start.p0(i64 immarg, ptr nocapture) #6

; Function Attrs: argmemonly nocallback nofree nosync nounwind willreturn
declare void @llvm.lifetime.end.p0(i64 immarg, ptr nocapture) #6

attributes #0 = { nounwind "no-builtins" "no-trapping-math"="true" }
attributes #1 = { "no-builtins" "no-trapping-math"="true" }
attributes #2 = { mustprogress nofree norecurse nosync nounwind readnone willreturn "no-builtins" "no-trapping-math"="true" }
attributes #3 = { argmemonly mustprogress nocallback nofree nounwind willreturn writeonly }
attributes #4 = { mustprogress nocallback nofree nosync nounwind readnone speculatable willreturn }
attributes #5 = { nocallback nofree nosync nounwind readnone speculatable willreturn }
attributes #6 = { argmemonly nocallback nofree nosync nounwind willreturn }
attributes #7 = { nobuiltin nounwind "no-builtins" }
attributes #8 = { nobuiltin "no-builtins" }
